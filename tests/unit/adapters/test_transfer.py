from __future__ import annotations

import gc
import weakref
from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adapters.transfer import LockedMemory, Transfer
from tests.unit.adapters.fake_copier import FakeCopier, FakeEvent


def leaves(number: int, rows: int = 4) -> list[np.ndarray]:
    return [np.full((rows, 8), number, np.float32), np.full(rows, number, np.uint8)]


def test_one_batch_goes_through_the_steps_in_order() -> None:
    copier = FakeCopier()
    transfer = Transfer(copier, ahead=2)
    sent = transfer.send(leaves(1))
    assert copier.notes == ["lock", "stage", "stage", "copy", "copy", "fence"]
    transfer.hand_over(sent)
    assert copier.notes[6:] == ["hand over"]


def test_memory_is_used_again_after_its_fence_and_not_before() -> None:
    copier = FakeCopier()
    transfer = Transfer(copier, ahead=2)
    for number in range(2):
        transfer.send(leaves(number))
    assert copier.locked == 2
    copier.advance(2)
    transfer.send(leaves(2))
    assert copier.locked == 2


def run(copier: FakeCopier, progress: list[int], ahead: int = 2) -> tuple[list[float], list[float]]:
    """Batches through a transfer whose device makes that many copies before each; what was sent, what arrived."""
    transfer, waiting, received = Transfer(copier, ahead), deque[Any](), []
    for number, count in enumerate(progress):
        copier.advance(count)
        waiting.append(transfer.send(leaves(number, rows=1 + number % 3)))
        if len(waiting) > ahead:
            received.append(transfer.hand_over(waiting.popleft()))
    received += [transfer.hand_over(sent) for sent in waiting]
    copier.advance(2 * len(progress))
    transfer.close()
    worst = [max(float(np.abs(copy.values - n).max()) for copy in copies) for n, copies in enumerate(received)]
    return worst, [0.0] * len(progress)


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(0, 3))
def test_what_arrives_is_what_was_sent_however_late_the_device_copies(progress: list[int], ahead: int) -> None:
    copier = FakeCopier()
    arrived, expected = run(copier, progress, ahead)
    assert arrived == expected
    assert copier.most_locked <= ahead + 4 + 2  # and two sizes that the first were too small for
    assert copier.locked == 0


def test_an_event_that_passes_too_early_is_seen_to_corrupt() -> None:
    class TooEarly(FakeEvent):
        def has_passed(self) -> bool:
            return True

    arrived, expected = run(FakeCopier(event=TooEarly), [0] * 8)
    assert arrived != expected


def test_the_host_does_not_wait_while_the_device_keeps_up() -> None:
    copier = FakeCopier()
    arrived, expected = run(copier, [0, 0, 0, 2, 2, 2, 2, 2, 2, 2])
    assert arrived == expected
    assert "wait" not in copier.notes


def test_the_host_waits_for_the_oldest_copy_when_too_many_are_in_progress() -> None:
    copier = FakeCopier()
    transfer = Transfer(copier, ahead=2)
    for number in range(7):
        transfer.send(leaves(number))
    assert copier.notes.count("wait") == 1
    assert (copier.done, copier.locked) == (2, 6)


def test_close_waits_for_copies_in_progress_and_gives_all_memory_back() -> None:
    copier = FakeCopier()
    transfer = Transfer(copier, ahead=2)
    copies = [transfer.send(leaves(number)).copies[0] for number in range(3)]
    transfer.close()
    assert copier.notes[-7:] == ["wait", "wait", "wait", "unlock", "unlock", "unlock", "close"]
    assert [float(copy.values.max()) for copy in copies] == [0, 1, 2]
    transfer.send(leaves(3))  # closed is not dead: the next epoch locks anew
    assert copier.locked == 1


def test_a_failed_staging_gives_its_memory_back_at_once() -> None:
    copier = FakeCopier(fail_at="stage")
    transfer = Transfer(copier, ahead=2)
    with pytest.raises(RuntimeError, match="no stage"):
        transfer.send(leaves(0))
    transfer.send(leaves(1))
    assert copier.locked == 1


def test_a_failed_copy_keeps_its_memory_until_those_before_it_are_done() -> None:
    copier = FakeCopier()
    transfer = Transfer(copier, ahead=2)
    original, calls = copier.copy, iter(range(2))
    copier.copy = lambda staged: original(staged) if not next(calls) else _raise("out of memory")  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="out of memory"):
        transfer.send(leaves(7))
    copier.copy = original  # type: ignore[method-assign]
    transfer.send(leaves(1))
    assert copier.locked == 2
    copier.advance(1)
    assert float(copier._queue[0][1].min()) == 7
    transfer.close()
    assert copier.locked == 0


def test_a_device_that_fails_while_closing_leaves_no_memory_kept() -> None:
    class Dead(FakeEvent):
        def wait(self) -> None:
            raise RuntimeError("the device is gone")

    copier = FakeCopier(event=Dead)
    transfer = Transfer(copier, ahead=2)
    transfer.send(leaves(0))
    with pytest.raises(RuntimeError, match="gone"):
        transfer.close()
    assert copier.notes[-1] == "close"
    transfer.close()


def test_unlocked_arrays_are_kept_until_their_copies_are_done() -> None:
    copier = FakeCopier()
    transfer = Transfer(copier, ahead=2, is_locked=False)
    batch = leaves(3)
    alive = weakref.ref(batch[0])
    transfer.send(batch)
    del batch
    assert alive() is not None
    copier.advance(2)
    copier._queue.clear()
    copier.done = 10
    transfer.send(leaves(4))
    gc.collect()
    assert alive() is None
    assert "lock" not in copier.notes


def test_locked_memory_kept_is_bounded() -> None:
    copier = FakeCopier()
    memory = LockedMemory(copier, kept_bytes=1000)
    pieces = [memory.take(400) for _ in range(4)]
    for piece in pieces:
        memory.give_back(piece)
    assert (memory.free_bytes, copier.locked) == (800, 2)
    memory.close()
    assert (memory.free_bytes, copier.locked) == (0, 0)


@pytest.mark.parametrize(("wanted", "is_reused"), [(100, True), (51, True), (49, False), (101, False)])
def test_locked_memory_serves_what_fits_and_wastes_no_more_than_half(wanted: int, is_reused: bool) -> None:
    copier = FakeCopier()
    memory = LockedMemory(copier)
    memory.give_back(memory.take(100))
    size, _ = memory.take(wanted)
    assert size >= wanted
    assert (copier.locked == 1) is is_reused


def _raise(text: str) -> None:
    raise RuntimeError(text)
