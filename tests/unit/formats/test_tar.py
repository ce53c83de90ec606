"""Tar shards: what is a sample, by position and streamed; ours agrees with tarfile; broken archives are told."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Dataset, Spec
from penstock.errors import DecodeError, ReadError
from penstock.formats.files import measured
from penstock.formats.tar_members import members
from penstock.formats.tar_samples import split_name
from penstock.formats.tar_source import open_source
from tests.unit.failing import failing

Pairs = Sequence[tuple[str, bytes]]
FORMATS = {"gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT, "ustar": tarfile.USTAR_FORMAT}


def archive(files: Pairs, kind: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def shard(first: int, count: int) -> list[tuple[str, bytes]]:
    numbers = range(first, first + count)
    return [(f"x/{n:04d}.{field}", f"{field}{n}".encode() * (n % 5)) for n in numbers for field in ("jpg", "cls")]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def put(content: bytes, name: str = "a.tar") -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return put


def element(n: int) -> dict[str, Any]:
    return {"__key__": f"x/{n:04d}", "jpg": f"jpg{n}".encode() * (n % 5), "cls": f"cls{n}".encode() * (n % 5)}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_samples_of_shards(write: Callable[..., str], kind: str, packed: bool) -> None:
    shards = [archive(shard(first, 9), FORMATS[kind]) for first in (0, 9)]
    names = [
        write(gzip.compress(data) if packed else data, f"{n}.tar{'.gz' if packed else ''}")
        for n, data in enumerate(shards)
    ]
    dataset = Dataset.from_tar(names)
    assert dataset.element_spec == {"__key__": Spec((), str), "jpg": Spec((), bytes), "cls": Spec((), bytes)}
    assert list(dataset) == [element(n) for n in range(18)]
    shuffled = sorted(dataset.shuffle(5), key=lambda e: e["__key__"])
    assert shuffled == [element(n) for n in range(18)]


def test_plain_shards_are_found_by_position(write: Callable[..., str]) -> None:
    names = [write(archive(shard(first, 9)), f"{first}.tar") for first in (0, 9)]
    dataset = Dataset.from_tar(names)
    assert dataset[11] == element(11)
    assert list(dataset[16:2:-3]) == [element(n) for n in range(16, 2, -3)]
    assert "a permutation of all 18" in dataset.shuffle(2).explain()
    assert [e["__key__"] for e in Dataset.from_tar(names).distribute("file", rank=1, world_size=2)] == [
        element(n)["__key__"] for n in range(9, 18)
    ]


def test_packed_shards_stream(write: Callable[..., str]) -> None:
    dataset = Dataset.from_tar(write(gzip.compress(archive(shard(0, 9))), "a.tgz")).shuffle(4)
    assert "a buffer of 4" in dataset.explain()


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_resumes(write: Callable[..., str], name: str) -> None:
    data = archive(shard(0, 700))
    dataset = Dataset.from_tar(write(gzip.compress(data) if name.endswith("gz") else data, name))
    iterator = iter(dataset)
    for _ in range(311):
        next(iterator)
    other = iter(dataset)
    other.load_state_dict(iterator.state_dict())
    assert [e["__key__"] for e in other] == [element(n)["__key__"] for n in range(311, 700)]


def test_fields_are_those_wanted(write: Callable[..., str]) -> None:
    files = [("1.jpg", b"a"), ("1.txt", b"b"), ("2.cls", b"c"), ("2.jpg", b"d")]
    name = write(archive(files))
    assert list(Dataset.from_tar(name, ["jpg"])) == [{"__key__": "1", "jpg": b"a"}, {"__key__": "2", "jpg": b"d"}]
    elements, error = failing(Dataset.from_tar(name, ["jpg", "txt"]))
    assert [e["__key__"] for e in elements] == ["1"]
    assert isinstance(error, DecodeError)
    assert "sample '2' has no field 'txt'; got cls, jpg" in str(error)
    assert f"{name}, byte 2048" in str(error)
    assert "sample '2' has no field" in str(failing(Dataset.from_tar(name, ["jpg", "txt"])[:])[1])  # by position too
    iterator = iter(Dataset.from_tar(name, ["txt"], on_error="skip"))
    assert len(list(iterator)) == 1
    assert len(iterator.skipped) == 1


def test_sample_with_more_than_the_first_is_an_error(write: Callable[..., str]) -> None:
    elements, error = failing(Dataset.from_tar(write(archive([("1.jpg", b"a"), ("2.jpg", b"b"), ("2.cls", b"c")]))))
    assert len(elements) == 1
    assert "sample '2' has field 'cls', which the first has not" in str(error)


def test_field_twice_is_an_error(write: Callable[..., str]) -> None:
    _, error = failing(Dataset.from_tar(write(archive([("1.jpg", b"a"), ("1.JPG", b"b")]))))
    assert "field 'jpg' twice" in str(error)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/b.c.D", ("a/b", "c.d")),
        ("./0001.jpg", ("./0001", "jpg")),
        ("a.b/c.d", ("a.b/c", "d")),
        ("noext", None),
        (".hidden", None),
        ("a/.hidden.txt", None),
        ("__meta__/x.y", None),
        ("__x__", None),
        ("a.", None),
    ],
)
def test_name_is_key_and_field(name: str, parts: Any) -> None:
    assert split_name(name) == parts


def test_what_is_no_part_of_a_sample_is_left_out(write: Callable[..., str]) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, kind in (("d", tarfile.DIRTYPE), ("l.jpg", tarfile.SYMTYPE), ("p.jpg", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "x"
            tar.addfile(info)
        for name, data in (("README", b"?"), ("1.jpg", b"a")):
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(data), {"comment": "ü" * 600}
            tar.addfile(info, io.BytesIO(data))
    assert list(Dataset.from_tar(write(out.getvalue()))) == [{"__key__": "1", "jpg": b"a"}]


def listed(path: str) -> list[tuple[str, int, int]]:
    with open_source(measured(path), False) as source:
        return [(member.name, member.offset, member.size) for member in members(source)]


def listed_by_tarfile(path: str) -> list[tuple[str, int, int]]:
    with tarfile.open(path, "r:") as tar:
        return [(info.name, info.offset_data, info.size) for info in tar if info.isreg()]


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=300)


@settings(deadline=None)
@given(st.lists(st.tuples(NAMES, st.binary(max_size=1500)), min_size=1, max_size=6), st.sampled_from(["gnu", "pax"]))
def test_members_are_those_of_tarfile(tmp_path_factory: pytest.TempPathFactory, files: Pairs, kind: str) -> None:
    path = tmp_path_factory.getbasetemp() / "twin.tar"
    path.write_bytes(archive([(name.strip("/") or "a", data) for name, data in files], FORMATS[kind]))
    assert listed(str(path)) == listed_by_tarfile(str(path))


def with_bytes(data: bytes, place: int, new: bytes, fix: int | None = None) -> bytes:
    """`data` with other bytes from `place` on, and the checksum of the header at `fix` made right."""
    changed = bytearray(data)
    changed[place : place + len(new)] = new
    if fix is not None:
        changed[fix + 148 : fix + 156] = b" " * 8
        changed[fix + 148 : fix + 156] = b"%06o\0 " % sum(changed[fix : fix + 512])
    return bytes(changed)


WHOLE = archive([(f"{n}.jpg", bytes([n]) * 700) for n in range(5)])
STEP = 512 * 3  # a header and two blocks of data
LONG = archive([("0.jpg", b"a"), ("x" * 200 + ".jpg", b"b")])

BROKEN = {
    "header": (with_bytes(WHOLE, 2 * STEP + 5, b"\x07"), 2, "byte 3072: not a tar header"),
    "text": (WHOLE[:STEP] + b"no tar" * 200, 1, "byte 1536: not a tar header"),
    "header cut": (WHOLE[: 2 * STEP + 100], 2, "byte 3072: a header is cut short; got 100 bytes"),
    "data cut": (WHOLE[: 2 * STEP + 600], 2, "byte 3072: member '2.jpg' is cut short; got 88 bytes, expected 700"),
    "size past the end": (
        with_bytes(WHOLE, STEP + 124, b"77777777777\0", STEP), 1, "member '1.jpg' is cut short; got 8192 bytes",
    ),
    "size of 2**62": (
        with_bytes(WHOLE, STEP + 124, b"\x80" + (2**62).to_bytes(11, "big"), STEP), 1, "member '1.jpg' is cut short",
    ),
    "size below 0": (with_bytes(WHOLE, STEP + 124, b"\xff" * 12, STEP), 1, "byte 1536: a size that is none"),
    "size of letters": (with_bytes(WHOLE, STEP + 124, b"00000009zzz\0", STEP), 1, "byte 1536: a size that is none"),
    "long name of 2 GiB": (with_bytes(LONG, 1024 + 124, b"20000000000\0", 1024), 1, "extension is too long"),
    "long name cut": (LONG[: 1024 + 700], 1, "byte 1024: a header extension is cut short"),
    "sparse": (with_bytes(WHOLE, STEP + 156, b"S", STEP), 1, "byte 1536: a sparse file"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_broken_archive_is_told_with_its_place(write: Callable[..., str], what: str) -> None:
    data, whole, message = BROKEN[what]
    name = write(data)
    elements, error = failing(Dataset.from_tar(name))
    # the sample before the fault is not known to be whole: its next member might belong to it
    assert len(elements) in (whole - 1, whole)
    assert isinstance(error, DecodeError)
    assert f"{name}, " in str(error)
    assert message in str(error)
    with pytest.raises(DecodeError, match="byte"):
        list(Dataset.from_tar(name).shuffle())
    packed, error = failing(Dataset.from_tar(write(gzip.compress(data), "p.tgz")))
    assert packed == elements
    assert "p.tgz (unpacked), byte" in str(error)


def test_skip_goes_on_with_the_next_file(write: Callable[..., str]) -> None:
    names = [write(BROKEN["header"][0], "bad.tar"), write(archive([("9.jpg", b"z")]), "good.tar")]
    iterator = iter(Dataset.from_tar(names, on_error="skip"))
    assert [e["__key__"] for e in iterator][-1] == "9"
    assert len(iterator.skipped) == 1
    assert "bad.tar, byte 3072" in iterator.skipped[0].error


NO_ARCHIVES = [(b"", "archive is empty"), (b"x" * 600, "not a tar header"), (bytes(1024), "no sample")]


@pytest.mark.parametrize(("data", "message"), NO_ARCHIVES)
def test_what_is_no_archive(write: Callable[..., str], data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        Dataset.from_tar(write(data))


def test_gzip_that_is_cut(write: Callable[..., str]) -> None:
    packed = gzip.compress(archive(shard(0, 2000)))
    elements, error = failing(Dataset.from_tar(write(packed[: len(packed) // 2], "a.tgz")))
    assert 0 < len(elements) < 2000
    assert "cut short" in str(error)


def test_file_that_changes_is_told(write: Callable[..., str]) -> None:
    name = write(archive(shard(0, 9)))
    dataset = Dataset.from_tar(name)
    sliced = dataset[:]
    assert len(sliced) == 9
    write(archive(shard(0, 30)))
    for changed in (dataset, sliced):
        with pytest.raises(ReadError, match="has changed"):
            list(changed)
