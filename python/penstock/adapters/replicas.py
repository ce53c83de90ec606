"""Whether each batch divides over the devices that work on it together: told before the first step, not in the last.

A batch that does not divide is an error deep inside JAX; between processes, ranks with unequal rows wait for each other
for ever, or average gradients that do not weigh the same.
"""

from __future__ import annotations

from penstock.adapters.feed import Feed
from penstock.errors import InvalidArgumentError


def ranks_of(feed: Feed) -> int:
    """Over how many ranks the batches that `feed` tells the size of are dealt; 1 for a feed that no dataset made."""
    return int(getattr(feed, "ranks", 1))


def require_divisible(feed: Feed, ranks: int, processes: int, devices: int, strategy: str) -> None:
    """Each batch of `feed` must divide over `devices` of each of `processes`.

    ranks: over which its sizes are dealt; 1 where they are already those of this process.
    Raises: InvalidArgumentError: one does not, or the last may not, with the size that would.
    """
    parts = devices * (processes if ranks > 1 else 1)
    if parts == 1 and processes == 1:
        return
    spread = f"{devices} device{'s' if devices != 1 else ''}"
    if ranks > 1:
        spread += f" of each of {processes} processes"
    size, rest = feed.batch_size, feed.partial_batch_size
    if size is not None and size % parts:
        raise InvalidArgumentError(
            f"{strategy}: a batch does not divide over {spread}", got=f"{size} rows",
            expected=f"a multiple of {parts}", remedy=f"say batch({max(1, round(size / parts)) * parts})",
        )  # fmt: skip
    remedy = (
        'say batch(..., drop_remainder=True), or batch(..., remainder="pad"), which adds rows of weight 0: '
        'with a loss of reduction="mean_with_sample_weight" they change nothing'
    )
    if rest is not None and (rest % parts or (ranks == 1 and processes > 1)):
        raise InvalidArgumentError(
            f"{strategy}: the last batch does not divide over {spread}" if rest % parts else
            f"{strategy}: the last batches of {processes} processes may differ in size",
            got=f"{rest} rows", expected=f"a multiple of {parts}" if rest % parts else "full batches", remedy=remedy,
        )  # fmt: skip
    if feed.has_partial_batch is None:
        raise InvalidArgumentError(
            f"{strategy}: the last batch may not divide over {spread}", got="a number of rows that is not known before",
            expected="equal batches", remedy=remedy,
        )  # fmt: skip
