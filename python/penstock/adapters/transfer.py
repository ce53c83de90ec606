"""Batches to a device while the device computes: from page-locked memory, on a stream of their own.

The order of one batch is the law here, and it is tested with a copier that only takes notes:

1. its bytes go into page-locked memory that no copy in progress reads from;
2. the copies start on the copier's own stream, and a fence is put behind them;
3. when the trainer asks for the batch, the trainer's stream, not the host, waits for that fence;
4. the page-locked memory is used again once the fence has been passed, and not before.

One thread sends, another may hand over, and they share nothing that changes. Neither waits for the device, but for two
cases: more copies in progress than the look-ahead and `_COPIES_BEYOND` (the link is slower than the trainer asks, and
memory would grow without end), and `close()`, which gives memory back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

_ALIGNMENT_BYTES = 64
_KEPT_BYTES = 256 * 2**20
_COPIES_BEYOND = 4


class Event(Protocol):
    """A point in the work of a device."""

    def has_passed(self) -> bool:
        """Whether all work before it is done. Never waits."""

    def wait(self) -> None:
        """Block this thread until it is."""


class Copier(Protocol):
    """What touches a device. Only `Event.wait` may block the host."""

    def lock(self, size_bytes: int) -> Any:
        """Page-locked memory of that size."""

    def unlock(self, memory: Any) -> None:
        """Give it back; no copy reads from it any more."""

    def stage(self, memory: Any, start: int, array: npt.NDArray[Any]) -> Any:
        """Write `array` into `memory` from byte `start` on; what `copy` takes."""

    def borrow(self, array: npt.NDArray[Any]) -> Any:
        """What `copy` takes, over the memory of `array` itself, which is not page-locked."""

    def copy(self, staged: Any) -> Any:
        """Start the copy of one leaf, on the copier's own stream; the leaf on the device."""

    def fence(self) -> Event:
        """The point behind every copy started so far."""

    def hand_over(self, copies: Sequence[Any], fence: Event) -> None:
        """Make the trainer's stream wait for `fence`, and keep the copies' memory for as long as it works on them."""

    def close(self) -> None:
        """Let go of what the device keeps for us."""


class LockedMemory:
    """Page-locked memory, used again when it is given back; `kept_bytes` of it at most wait to be used again."""

    def __init__(self, copier: Copier, kept_bytes: int = _KEPT_BYTES) -> None:
        self._copier = copier
        self._kept_bytes = kept_bytes
        self._free: list[tuple[int, Any]] = []

    @property
    def free_bytes(self) -> int:
        return sum(size for size, _ in self._free)

    def take(self, size_bytes: int) -> tuple[int, Any]:
        """At least that many bytes, at most twice as many where memory of that size was given back."""
        for place, (size, _) in enumerate(self._free):
            if size_bytes <= size <= 2 * size_bytes:
                return self._free.pop(place)
        return size_bytes, self._copier.lock(size_bytes)

    def give_back(self, piece: tuple[int, Any]) -> None:
        """`piece` may be overwritten."""
        self._free.append(piece)
        while self._free and self.free_bytes > self._kept_bytes:
            self._copier.unlock(self._free.pop(0)[1])

    def close(self) -> None:
        """Unlock all that is free."""
        while self._free:
            self._copier.unlock(self._free.pop()[1])


@dataclass(frozen=True, slots=True)
class Sent:
    """The leaves of a batch on their way, and the point at which they have arrived."""

    copies: list[Any]
    fence: Event


class Transfer:
    """Sends the leaves of batches to a device and hands them over, in the order that stands above.

    ahead: how many batches may wait on the device to be handed over. is_locked: False copies from the arrays' own
    memory, which the driver then stages itself, holding up the host.
    """

    def __init__(self, copier: Copier, ahead: int, is_locked: bool = True) -> None:
        self._copier = copier
        self._limit = ahead + _COPIES_BEYOND
        self._memory = LockedMemory(copier) if is_locked else None
        self._in_progress: deque[tuple[Event, Any]] = deque()  # what each copy reads from

    def send(self, leaves: Sequence[npt.NDArray[Any]]) -> Sent:
        """Start the copies of one batch. `leaves` may be overwritten afterwards only if nobody else owns them."""
        self._reclaim()
        if self._memory is None:
            return self._start(list(leaves), [self._copier.borrow(leaf) for leaf in leaves])
        starts, size = [], 0
        for leaf in leaves:
            starts.append(size)
            size += -(-leaf.nbytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        piece = self._memory.take(size)
        try:
            staged = [self._copier.stage(piece[1], at, leaf) for at, leaf in zip(starts, leaves, strict=True)]
        except BaseException:
            self._memory.give_back(piece)  # no copy has started
            raise
        return self._start(piece, staged)

    def _start(self, source: Any, staged: list[Any]) -> Sent:
        copies: list[Any] = []
        try:
            copies += map(self._copier.copy, staged)
        finally:  # also behind the copies that started before one failed: they still read
            fence = self._copier.fence()
            self._in_progress.append((fence, source))
        return Sent(copies, fence)

    def hand_over(self, sent: Sent) -> list[Any]:
        """The leaves, for the stream on which the trainer works now."""
        self._copier.hand_over(sent.copies, sent.fence)
        return sent.copies

    def _reclaim(self) -> None:
        while self._in_progress:
            fence, _ = self._in_progress[0]
            if not fence.has_passed():
                if len(self._in_progress) < self._limit:
                    return
                fence.wait()
            self._release()

    def _release(self) -> None:
        _, source = self._in_progress.popleft()
        if self._memory is not None:
            self._memory.give_back(source)

    def close(self) -> None:
        """Wait for the copies in progress (milliseconds) and give all page-locked memory back. It may be used again."""
        try:
            while self._in_progress:
                fence, _ = self._in_progress[0]
                if not fence.has_passed():
                    fence.wait()
                self._release()
        finally:
            self._in_progress.clear()  # where waiting failed, the device has, and nothing reads any more
            if self._memory is not None:
                self._memory.close()
            self._copier.close()
