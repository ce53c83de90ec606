"""`penstock.replay`: the trainer fed from memory for some steps, so that its own speed is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.errors import InvalidArgumentError


def replay(loader: Iterable[Any], batches: int = 8, steps: int = 32) -> Replay:
    """Feed the first `batches` of `loader`, then these again from memory: the trainer's own speed is measured.

        with dataset.iterator() as batches:
            for batch in penstock.replay(batches):
                train_step(batch)
            for batch in batches:  # goes on with the batch after those that were replayed
                train_step(batch)
            print(batches.diagnose())  # the verdict knows what a step takes when its input costs nothing

    The kept batches are fed in turn; the first turn is not timed (the pipeline fills its buffers meanwhile, and the
    step has just been compiled), then `steps` are. An iterator of Penstock is told the outcome, and does not count the
    time as its own; for other loaders it stands in `step_s`. A trainer that dispatches asynchronously is timed by the
    pace at which it asks, which is its device's once its queue is full.

    Memory: `batches` of them are held meanwhile, and are handed out as they are: a trainer that writes into its batch
    writes into the next turn's too.
    Raises: InvalidArgumentError: `batches` or `steps` is less than 1.
    """
    for name, value in (("batches", batches), ("steps", steps)):
        if value < 1:
            raise InvalidArgumentError(f"replay: {name}", got=repr(value), expected="an integer >= 1")
    return Replay(loader, batches, steps, time.perf_counter)


class Replay(Iterator[Any]):
    """Batches, then the same again; see `penstock.replay`."""

    def __init__(self, loader: Iterable[Any], batches: int, steps: int, now: Callable[[], float]) -> None:
        self._source = iter(loader)
        self._batches = batches
        self._steps = steps
        self._now = now
        self._kept: list[Any] = []
        self._is_filled = False
        self._turn = 0
        self._began_at = 0.0
        self.step_s: float | None = None
        """Seconds of a step when its input costs nothing; None until it has ended."""

    def __next__(self) -> Any:
        if not self._is_filled:
            batch = next(self._source, self)
            if batch is not self:
                self._kept.append(batch)
                self._is_filled = len(self._kept) == self._batches
                return batch
            self._is_filled = True
        turn, size = self._turn, len(self._kept)
        if not size or turn == size + self._steps:
            self._end()
            raise StopIteration
        if turn == size:
            self._began_at = self._now()
        self._turn += 1
        return self._kept[turn % size]

    def _end(self) -> None:
        if self._kept and self.step_s is None:
            self.step_s = (self._now() - self._began_at) / self._steps
            tell = getattr(self._source, "replayed", None)
            if tell is not None:
                tell(self.step_s)
        self._kept.clear()
