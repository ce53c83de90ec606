"""Damaged tar shards and Parquet files of tests/golden/hostile: what comes before the fault, and what is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import Dataset
from penstock.errors import InvalidArgumentError, PenstockError

pytest.importorskip("pyarrow")

HOSTILE = Path(__file__).parents[2] / "golden" / "hostile"
CUT = "member '1.txt' is cut short; got 3584 bytes, expected {}, as its header says"
EXTENSION = "a header extension is too long; got 2147483648 bytes, expected at most 1048576"
UNPACK = "cannot unpack the file as GZIP; got {}"
PARQUET = "not readable as Parquet; got {}"
FOOTER = "Parquet file size is 485 bytes, smaller than the size reported by footer's ({}bytes)"

# Elements before the fault, of an archive all but the last: its next member might have belonged to it; what is told.
DAMAGED: dict[str, tuple[int, str]] = {
    "tar/header.tar": (1, "byte 3072: not a tar header; got checksum"),
    "tar/text.tar": (0, "byte 1536: not a tar header; got checksum"),
    "tar/cut_in_header.tar": (1, "byte 3072: a header is cut short; got 100 bytes, expected 512"),
    "tar/cut_in_data.tar": (2, "byte 3072: member '2.txt' is cut short; got 88 bytes, expected 600"),
    "tar/size_past_the_end.tar": (1, "byte 1536: " + CUT.format(32768)),
    "tar/size_2_gib.tar": (1, "byte 1536: " + CUT.format(2**31)),
    "tar/size_of_all_bits.tar": (0, "byte 1536: a size that is none"),
    "tar/size_of_letters.tar": (0, "byte 1536: a size that is none; got b'00000009zzz\\x00', expected octal digits"),
    "tar/long_name_2_gib.tar": (0, "byte 1024: " + EXTENSION),
    "tar/size_2_gib.tgz": (1, "(unpacked), byte 1536: " + CUT.format(2**31)),
    "tar/cut.tgz": (0, "after 150 bytes unpacked: " + UNPACK.format("it is cut short")),
    "tar/cut_in_trailer.tgz": (3, "after 5632 bytes unpacked: " + UNPACK.format("it is cut short")),
    "tar/bad_crc.tgz": (0, UNPACK.format("Error -3 while decompressing data: incorrect data check")),
    "parquet/empty.parquet": (0, PARQUET.format("Parquet file size is 0 bytes")),
    "parquet/text.parquet": (0, PARQUET.format("Parquet magic bytes not found in footer")),
    "parquet/cut_in_footer.parquet": (0, PARQUET.format("Parquet magic bytes not found in footer")),
    "parquet/cut_in_data.parquet": (0, PARQUET.format("Parquet magic bytes not found in footer")),
    "parquet/footer_length_past_the_end.parquet": (0, PARQUET.format(FOOTER.format(970))),
    "parquet/footer_length_2_gib.parquet": (0, PARQUET.format(FOOTER.format(2**31))),
    "parquet/footer_length_of_all_bits.parquet": (0, PARQUET.format(FOOTER.format(2**32 - 1))),
    "parquet/footer_of_zeros.parquet": (0, PARQUET.format("Couldn't deserialize thrift")),
    "parquet/page_header.parquet": (4, "row group 1 at byte 102: " + PARQUET.format("Couldn't deserialize thrift")),
    "parquet/page_packed.parquet": (4, "row group 1 at byte 113: " + PARQUET.format("GZipCodec failed")),
    "parquet/page_data.parquet": (4, "row group 1 at byte 114: " + PARQUET.format("could not verify page integrity")),
    "parquet/missing_column.parquet": (0, "no column 'x'; expected of 'n'"),
}
MADE = [name for name in DAMAGED if DAMAGED[name][0] or name.endswith(".tar")]  # the others are no dataset at all


def opened(name: str, **said: Any) -> Dataset:
    path = HOSTILE / name
    return Dataset.from_tar(path, **said) if "tar/" in name else Dataset.from_parquet(path, ["n", "x"], **said)


def until_error(name: str, *, by_number: bool = False) -> tuple[list[Any], PenstockError]:
    elements: list[Any] = []
    try:
        dataset = opened(name)
        elements.extend(dataset[:] if by_number else dataset)
    except PenstockError as error:
        return elements, error
    raise AssertionError(f"{name} was read to its end: {elements}")


def test_every_hostile_file_is_tried() -> None:
    there = {f"{kind}/{entry.name}" for kind in ("tar", "parquet") for entry in (HOSTILE / kind).iterdir()}
    assert there == set(DAMAGED)


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_file_is_told_after_what_is_good(name: str) -> None:
    count, text = DAMAGED[name]
    elements, error = until_error(name)
    assert len(elements) == count
    for part in (text, str(HOSTILE / name), f"from_{name.partition('/')[0]} at ", "test_hostile.py:"):
        assert part in str(error)
    assert error.remedy is not None or isinstance(error, InvalidArgumentError)  # which says what there is


@pytest.mark.parametrize("name", [name for name in MADE if name.endswith(".tar")])
def test_damaged_archive_is_told_by_number_too(name: str) -> None:
    _, error = until_error(name, by_number=True)
    assert DAMAGED[name][1] in str(error)


@pytest.mark.parametrize("name", MADE)
def test_what_is_damaged_is_left_out_and_kept(name: str) -> None:
    count, text = DAMAGED[name]
    with opened(name, on_error="skip").iterator() as iterator:
        assert len(list(iterator)) == count
        assert len(iterator.skipped) == (1 if "tar/" in name else 4)  # each row of a row group
    assert all(text in skipped.error for skipped in iterator.skipped)
