"""Links between two ends in one process: what arrives, and when a segment goes back."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from penstock.engine.executors.link import Link
from penstock.engine.executors.shared_memory import Outbox


@pytest.fixture
def ends() -> Iterator[tuple[Link, Link]]:
    left, right = (Link(end) for end in socket.socketpair())
    yield left, right
    left.close()
    right.close()


def test_small_messages_come_inline(ends: tuple[Link, Link]) -> None:
    left, right = ends
    left.send({"a": np.arange(5), "b": ("text", b"raw")})
    message, stacks = right.receive()
    assert np.array_equal(message["a"], np.arange(5))
    assert message["b"] == ("text", b"raw")
    assert message["a"].flags.writeable
    assert stacks == []


@pytest.mark.parametrize("size", [5, 100_000])
def test_arrays_stay_as_writable_as_they_were(ends: tuple[Link, Link], size: int) -> None:
    left, right = ends
    fixed = np.arange(size)
    fixed.flags.writeable = False
    left.send([fixed, np.arange(size)])
    (first, second), _ = right.receive()
    assert not first.flags.writeable
    assert second.flags.writeable


def test_stacked_rows_arrive_as_one_aligned_array(ends: tuple[Link, Link]) -> None:
    left, right = ends
    rows = [np.full((40, 50), i, dtype=np.float32)[:, ::-1] for i in range(6)]
    left.send("rows", [rows])
    message, (stack,) = right.receive()
    assert message == "rows"
    assert np.array_equal(stack.view(np.float32).reshape(6, 40, 50), np.stack(rows))
    assert stack.ctypes.data % 64 == 0


def test_rows_in_reserved_memory_are_not_copied(ends: tuple[Link, Link]) -> None:
    left, right = ends
    places = []
    for number in range(3):
        memory = left.reserve(4 * 5000)
        assert memory is not None
        rows = list(memory.reshape(4, 5000))
        rows[3][:] = number
        left.send(np.arange(10_000), [rows])
        message, (stack,) = right.receive()
        rows[3][:] = 100 + number  # seen at the other end: one memory
        assert stack[-1] == 100 + number
        assert message[-1] == 9999
        places.append(stack.ctypes.data)
        del message, stack
        right.send("done")
        left.receive()
    assert len(set(places)) == 1


def test_reserved_memory_that_is_not_used_is_free_again(ends: tuple[Link, Link]) -> None:
    left, right = ends
    first = left.reserve(50_000)
    left.send("nothing", [[np.zeros(3000), np.ones(3000)]])
    _, (stack,) = right.receive()
    assert np.array_equal(stack.view(np.float64).reshape(2, 3000)[1], np.ones(3000))
    second = left.reserve(50_000)
    assert first is not None
    assert second is not None
    assert first.ctypes.data == second.ctypes.data


def test_a_segment_is_used_again_once_the_last_array_has_died(ends: tuple[Link, Link]) -> None:
    left, right = ends
    places = []
    for _ in range(4):
        left.send(np.zeros(100_000))
        received, _ = right.receive()
        places.append(received.ctypes.data)
        del received
        right.send("done")  # carries the news
        left.receive()
    assert len(set(places)) == 1


def test_a_kept_array_keeps_its_segment(ends: tuple[Link, Link]) -> None:
    left, right = ends
    kept = []
    for number in range(4):
        left.send(np.full(100_000, number))
        received, _ = right.receive()
        kept.append(received[5:10])
        del received
        right.send("done")
        left.receive()
    assert [int(part[0]) for part in kept] == [0, 1, 2, 3]


def test_segments_beyond_what_may_be_kept_are_forgotten() -> None:
    outbox = Outbox(kept_bytes=2**20)
    segments = [outbox.lend(2**20) for _ in range(3)]
    outbox.take_back(segment.number for segment in segments)
    assert outbox.forgotten() == [1, 2]
    assert outbox.lend(2**20) is segments[0]
    for segment in segments:
        segment.close_file()


def test_no_file_stays_open(ends: tuple[Link, Link]) -> None:
    left, right = ends
    gc.collect()  # what other tests of this process left is not counted
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        left.send(np.zeros(50_000))
        right.receive()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_the_end_of_the_other_side_is_an_eof(ends: tuple[Link, Link]) -> None:
    left, right = ends
    left.close()
    with pytest.raises(EOFError):
        right.receive()
