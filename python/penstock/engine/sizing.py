"""How many rows one task takes: a pure decision from what tasks were measured to cost. It never changes a result.

A task should be long enough to be worth handing over (tens of microseconds), short enough that the first result comes
soon and the cores share the last ones, and its output small enough to stay in cache and cheap to hold back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

TARGET_SECONDS = 0.016
HANDED_OVER_SECONDS = 0.032  # for a worker process: handing a block over and back costs some 0.3 ms
TARGET_BYTES = 4 * 2**20
MADE_ROW_SECONDS = 50e-6  # rows that take this long in a thread are made, not moved, and written past the caches
MADE_TARGET_BYTES = 16 * 2**20
AWAY_ROWS = 128  # at most, of tasks that wait for storage: several of them are out at once
FIRST_ROWS = 8
GROWTH = 8


@dataclass(frozen=True, slots=True)
class TaskSize:
    """Rows for the next task, and the smoothed cost of a row it follows from (seconds, bytes; None: not measured).

    `fixed`: the user's or a test's word; it never changes then.
    """

    rows: int = FIRST_ROWS
    row_s: float | None = None
    row_bytes: float | None = None
    fixed: bool = False

    def after(
        self, rows: int, seconds: float, nbytes: int, target_s: float = TARGET_SECONDS, *, away: bool = False
    ) -> TaskSize:
        """The size after a task of `rows` rows took `seconds`, put out `nbytes`.

        target_s: what one should take. away: it waited for storage besides, which counts in no second of these.
        """
        if self.fixed or rows < 1:
            return self
        row_s = _smooth(self.row_s, seconds / rows)
        row_bytes = _smooth(self.row_bytes, nbytes / rows)
        by_time = target_s / row_s if row_s > 0 else float("inf")
        is_made = row_s >= MADE_ROW_SECONDS and target_s == TARGET_SECONDS
        target_bytes = MADE_TARGET_BYTES if is_made else TARGET_BYTES
        by_bytes = target_bytes / row_bytes if row_bytes > 0 else float("inf")
        if away:
            by_time = min(max(by_time, FIRST_ROWS), AWAY_ROWS)
        wanted = max(1, int(min(by_time, by_bytes, self.rows * GROWTH)))
        # Powers of two, and only when clearly off: tasks of one size reuse each other's buffers.
        rows = 1 << (wanted.bit_length() - 1)
        return replace(self, rows=self.rows if rows == self.rows // 2 else rows, row_s=row_s, row_bytes=row_bytes)


def _smooth(before: float | None, now: float) -> float:
    return now if before is None else 0.7 * before + 0.3 * now


def batches_or_part(rows: int, batch_size: int) -> tuple[int, int]:
    """(batches per task, rows per task): several whole batches, or an equal part of one."""
    if rows >= batch_size:
        return rows // batch_size, batch_size
    parts = -(-batch_size // rows)
    return 0, -(-batch_size // parts)
