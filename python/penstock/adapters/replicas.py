"""Whether each batch divides over the devices that work on it together: told before the first step, not in the last.

A batch that does not divide is an error deep inside JAX; between processes, ranks with unequal rows wait for each other
for ever, or average gradients that do not weigh the same.
"""

from __future__ import annotations

from penstock.adapters.feed import INFINITE_CARDINALITY, Feed, Shared
from penstock.errors import InvalidArgumentError


def require_divisible(feed: Feed, shared: Shared | None, processes: int, devices: int, strategy: str) -> None:
    """Each batch of `feed` must divide over `devices` of each of `processes`, which make equally many steps.

    shared: how the dataset is dealt to ranks, whose global batches its sizes are; None: it is not.
    Raises: InvalidArgumentError: one does not, or the last may not, with the size that would.
    """
    ranks = 1 if shared is None or shared.policy == "off" else shared.world_size
    parts = devices * (processes if ranks > 1 else 1)
    if parts == 1 and processes == 1:
        return
    if ranks not in (1, processes):
        raise InvalidArgumentError(
            f"{strategy}: the dataset is dealt to other ranks than there are", got=f"{ranks} ranks",
            expected=f"{processes}, as many as processes train together",
        )  # fmt: skip
    if shared is not None and ranks > 1 and shared.policy == "file":
        _require_equal_files(feed, shared, strategy)
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


def _require_equal_files(feed: Feed, shared: Shared, strategy: str) -> None:
    """Ranks that read files of their own must make as many full batches of them."""
    if shared.is_whole and (feed.cardinality == INFINITE_CARDINALITY or len(set(shared.steps or (0, 1))) == 1):
        return
    counts = "unknown numbers of" if shared.steps is None else ", ".join(map(str, shared.steps))
    raise InvalidArgumentError(
        f"{strategy}: ranks that read files of their own come to different ends", got=f"{counts} batches",
        expected="as many for each, all of them full",
        remedy='distribute("data"); or drop_remainder=True, repeat() and steps_per_epoch',
    )  # fmt: skip
