"""The share of elements that were skipped, held to `Options.max_error_ratio`.

Counted in the order of delivery, verb by verb, so what it decides depends on the elements alone.
"""

from __future__ import annotations

from penstock.block.block import Block, Failure
from penstock.block.origin import NOWHERE
from penstock.engine.operators.functions import empty_block
from penstock.engine.scope import Skipped
from penstock.errors import TooManyErrorsError

_AT_LEAST = 100


class SkippedShare:
    """Elements let through and skipped by each verb so far. `limit`: the largest share that may be skipped.

    It is counted of at least 100 elements: one bad element among the first ten does not end a run that may lose 1 %.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._passed: dict[int, int] = {}
        self._skipped: dict[int, int] = {}

    def judged(self, number: int, blocks: list[Block], skipped: list[Skipped]) -> list[Block]:
        """What verb `number` gave next, cut where too many have been skipped."""
        passed = self._passed.get(number, 0)
        count = self._skipped.get(number, 0)
        for one in skipped:
            if one.number != number:
                continue
            count += 1
            total = passed + one.place + count
            if count > self._limit * max(total, _AT_LEAST):
                return _cut(blocks, one.place, self._error(one, count, total))
        self._passed[number] = passed + sum(map(len, blocks))
        self._skipped[number] = count
        return blocks

    def _error(self, last: Skipped, count: int, total: int) -> TooManyErrorsError:
        return TooManyErrorsError(
            "too many elements were skipped",
            got=f"{count} of {total}, the last at {last.origin}: {last.error}",
            expected=f"at most {self._limit:.3%} of {max(total, _AT_LEAST)} (Options.max_error_ratio)",
            where=last.verb,
            remedy="iterator.skipped has all of them, with tracebacks",
        )


def _cut(blocks: list[Block], place: int, error: TooManyErrorsError) -> list[Block]:
    kept: list[Block] = []
    for block in blocks:
        if place < len(block):
            return [*kept, block.fail(place, error)]
        kept.append(Block(block.structure, block.columns, block.origins))
        place -= len(block)
    return [*kept, empty_block(NOWHERE, Failure(error))]
