"""Many requests, over a client that is not one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import ClosedError, ReadError
from penstock.storage.attempts import Attempts
from penstock.storage.cache import DiskCache
from penstock.storage.client import Listed, ObjectFacts
from penstock.storage.fault import Fault, Kind
from penstock.storage.lane import Lane
from penstock.storage.ranges import Request
from penstock.storage.reader import Reader


class FakeClient:
    """Objects in memory; `gets` and `heads` that were made."""

    def __init__(self, **objects: bytes) -> None:
        self.objects = objects
        self.version = 1
        self.gets: list[Request] = []
        self.heads: list[str] = []
        self.gate = threading.Event()
        self.gate.set()

    def get(
        self, url: str, start: int, stop: int | None, pinned: ObjectFacts | None, *, tells: bool
    ) -> tuple[bytes, ObjectFacts | None]:
        self.gets.append(Request(url, start, stop, pinned))
        self.gate.wait(10)
        facts = self._facts(url)
        if stop is not None and stop > facts.size:
            raise Fault(Kind.SHORT, "short")
        return self.objects[url][start:stop], facts if tells else None

    def head(self, url: str) -> ObjectFacts:
        self.heads.append(url)
        return self._facts(url)

    def names(self, root: str, prefix: str, *, deep: bool) -> Iterator[Listed]:
        return iter(())

    def _facts(self, url: str) -> ObjectFacts:
        if url not in self.objects:
            raise Fault(Kind.MISSING, "404", 404)
        return ObjectFacts(len(self.objects[url]), f'"{self.version}"')


@pytest.fixture
def lane() -> Iterator[Lane]:
    lane = Lane(8)
    yield lane
    lane.close(5)


def reader(client: FakeClient, lane: Lane, cache: DiskCache | None = None, gap: int = 0) -> Reader:
    return Reader(client, lane, Attempts(2, 0.0), gap_bytes=gap, cache=cache)


def gathered(found: Reader, *requests: Request) -> list[bytes | Exception]:
    return found.start(requests).wait(None)


def test_failures_stay_with_their_own(lane: Lane) -> None:
    a, missing, b = gathered(reader(FakeClient(a=b"aa", b=b"bb"), lane), Request("a"), Request("c"), Request("b"))
    assert (a, b) == (b"aa", b"bb")
    assert isinstance(missing, ReadError)


def test_close_ranges_are_read_at_once_and_cut_apart(lane: Lane) -> None:
    client = FakeClient(a=bytes(range(100)))
    asked = [Request("a", 20, 30), Request("a", 0, 10), Request("a", 12, 22)]
    assert gathered(reader(client, lane, gap=2), *asked) == [bytes(range(r.start, r.stop or 0)) for r in asked]
    assert client.gets == [Request("a", 0, 30)]


def test_one_range_past_the_end_does_not_fail_its_neighbours(lane: Lane) -> None:
    client = FakeClient(a=bytes(range(100)))
    first, second = gathered(reader(client, lane, gap=2), Request("a", 90, 99), Request("a", 99, 110))
    assert first == bytes(range(90, 99))
    assert isinstance(second, ReadError)


def test_waits_end_when_nobody_needs_the_result(lane: Lane) -> None:
    client = FakeClient(a=b"aa")
    client.gate.clear()
    closing = threading.Event()
    gathering = reader(client, lane).start([Request("a")] * 20)
    closing.set()
    with pytest.raises(ClosedError):
        gathering.wait(closing)
    client.gate.set()
    lane.close(5)
    assert len(client.gets) <= 8  # what had not begun never did


def test_waits_end_when_nothing_is_read_any_longer(lane: Lane) -> None:
    client = FakeClient(a=b"aa")
    client.gate.clear()
    gathering = reader(client, lane).start([Request("a")])
    lane.close(0.0)
    with pytest.raises(ClosedError):
        gathering.wait(None)
    with pytest.raises(ClosedError):
        gathered(reader(client, lane), Request("a"))
    client.gate.set()


def test_cached_bytes_are_not_read_again(lane: Lane, tmp_path: Path) -> None:
    client = FakeClient(a=b"aa", b=b"bb")
    found = reader(client, lane, DiskCache(str(tmp_path), 10_000))
    for _ in range(3):
        assert gathered(found, Request("a"), Request("b")) == [b"aa", b"bb"]
    assert (len(client.gets), client.heads) == (2, [])


def test_cached_bytes_are_checked_once_in_each_process(lane: Lane, tmp_path: Path) -> None:
    client = FakeClient(a=b"aa")
    gathered(reader(client, lane, DiskCache(str(tmp_path), 10_000)), Request("a"))
    found = reader(client, lane, DiskCache(str(tmp_path), 10_000))  # as another process begins
    for _ in range(3):
        assert gathered(found, Request("a")) == [b"aa"]
    assert (len(client.gets), client.heads) == (1, ["a"])


def test_an_object_that_changed_is_read_again(lane: Lane, tmp_path: Path) -> None:
    client = FakeClient(a=b"aa")
    gathered(reader(client, lane, DiskCache(str(tmp_path), 10_000)), Request("a"))
    client.objects["a"], client.version = b"changed", 2
    found = reader(client, lane, DiskCache(str(tmp_path), 10_000))
    assert gathered(found, Request("a")) == [b"changed"]
    assert gathered(found, Request("a")) == [b"changed"]
    assert (len(client.gets), client.heads) == (2, ["a"])


def test_pinned_objects_need_no_check(lane: Lane, tmp_path: Path) -> None:
    client = FakeClient(a=b"aabb")
    pinned = ObjectFacts(4, '"1"')
    gathered(reader(client, lane, DiskCache(str(tmp_path), 10_000)), Request("a", 0, 2, pinned))
    found = reader(client, lane, DiskCache(str(tmp_path), 10_000))
    assert gathered(found, Request("a", 0, 2, pinned)) == [b"aa"]
    assert (len(client.gets), client.heads) == (1, [])
    later = ObjectFacts(4, '"2"')
    gathered(found, Request("a", 0, 2, later))
    assert client.gets[-1].pinned == later
