"""TFRecord framing: the kernels equal their slow twins on whole, cut and damaged bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import record, reference
from penstock.kernels.file import FileReader
from penstock.kernels.record import UNKNOWN_LEFT, FoundRecords, RecordFault

RECORDS = st.lists(st.binary(max_size=40), max_size=8)


def file_of(records: list[bytes]) -> bytes:
    return b"".join(b"".join((header, data, footer)) for data in records for header, footer in [framed(data)])


def framed(data: bytes) -> tuple[bytes, bytes]:
    return record.frame_record(data)


def assert_same(found: FoundRecords, expected: FoundRecords) -> None:
    assert (found.starts.tolist(), found.stops.tolist()) == (expected.starts.tolist(), expected.stops.tolist())
    assert tuple(found[2:]) == tuple(expected[2:])


@given(st.binary(max_size=300))
def test_frames_are_those_of_the_slow_twin(data: bytes) -> None:
    assert framed(data) == reference.frame_record(data)


def test_frame_is_that_of_tensorflow() -> None:
    assert framed(b"abc") == (bytes.fromhex("0300000000000000b099490e"), bytes.fromhex("6e57f121"))


@given(RECORDS, st.data(), st.booleans(), st.booleans())
def test_damaged_bytes_are_scanned_as_by_the_slow_twin(
    records: list[bytes], data: st.DataObject, verify: bool, skips: bool
) -> None:
    content = bytearray(file_of(records))
    for _ in range(data.draw(st.integers(0, 2)) if content else 0):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    left = data.draw(st.sampled_from([UNKNOWN_LEFT, len(content), len(content) + 5, len(content) // 2]))
    found = record.scan_records(np.frombuffer(bytes(content), np.uint8), left, verify=verify, skips=skips)
    assert_same(found, reference.scan_records(bytes(content), left, verify=verify, skips=skips))


@pytest.mark.parametrize("length", [2**31, 2**63, 2**64 - 16, 2**64 - 1])
def test_a_length_that_is_a_lie_takes_no_memory(length: int) -> None:
    said = length.to_bytes(8, "little")
    content = said + reference.masked_crc(said).to_bytes(4, "little") + b"few bytes"
    for left in (len(content), UNKNOWN_LEFT):
        found = record.scan_records(np.frombuffer(content, np.uint8), left, verify=True, skips=False)
        assert_same(found, reference.scan_records(content, left, verify=True, skips=False))


@given(RECORDS, st.data())
def test_records_are_read_by_their_places(tmp_path_factory: pytest.TempPathFactory, records: list[bytes], data) -> None:
    files = []
    for number in range(2):
        path = tmp_path_factory.mktemp("records") / f"{number}"
        path.write_bytes(file_of(records))
        files.append(FileReader(str(path)))
    bounds, fault = record.record_bounds(files[0], len(file_of(records)))
    assert fault is None
    assert len(bounds) == len(records) + 1
    assert record.skip_records(files[0], int(bounds[-1]), 3) == (
        min(3, len(records)),
        int(bounds[min(3, len(records))]),
    )
    rows = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=12)) if records else []
    numbers = np.array([data.draw(st.integers(0, 1)) for _ in rows], np.int64)
    maps = [np.frombuffer(file_of(records), np.uint8)] * 2
    for read, sources in ((record.read_records, files), (record.gather_records, maps)):
        packed, fault = read(sources, numbers, bounds[:-1][rows], bounds[1:][rows], verify=True)
        assert fault is None
        found = [packed.data[start:stop].tobytes() for start, stop in zip(packed.starts, packed.stops, strict=True)]
        assert found == [records[row] for row in rows]


@pytest.mark.parametrize("is_mapped", [False, True])
def test_places_that_hold_no_record_are_told(tmp_path: Path, is_mapped: bool) -> None:
    content = bytearray(file_of([b"one", b"two", b"three"]))
    content[19 + 12] ^= 1
    (tmp_path / "file").write_bytes(content)
    file = FileReader(str(tmp_path / "file"))

    def read(*places: tuple[int, int], verify: bool = True) -> tuple[int, RecordFault | None]:
        starts, stops = (np.array([place[side] for place in places], np.uint64) for side in (0, 1))
        numbers = np.zeros(len(places), np.int64)
        if is_mapped:
            view = np.frombuffer(bytes(content), np.uint8)
            packed, fault = record.gather_records([view], numbers, starts, stops, verify=verify)
        else:
            packed, fault = record.read_records([file], numbers, starts, stops, verify=verify)
        return len(packed.starts), fault

    assert read((38, 59), (0, 19)) == (2, None)
    assert read((0, 19), (19, 38), (38, 59), verify=False) == (3, None)
    for places, kind in (
        (((0, 19), (19, 38)), "data"),
        (((0, 19), (0, 38)), "other"),
        (((0, 19), (1, 19)), "length"),
        (((0, 19), (19, 19)), "other" if is_mapped else "cut"),
        (((0, 19), (19, 10)), "other" if is_mapped else "cut"),
        (((0, 19), (38, 99)), "other" if is_mapped else "unread"),
        (((0, 19), (2**64 - 9, 2**64 - 1)), "cut" if is_mapped else "unread"),
    ):
        good, fault = read(*places)
        assert fault is not None
        assert (good, fault.at, fault.kind) == (1, 1, kind), places
