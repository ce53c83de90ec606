"""The laws of Penstock as checks of one pipeline. They run it many times: give them a small one.

A pipeline breaks them when its functions depend on more than their arguments: on call order, on time, on global random
state. `random_map` and the random ops do not, which is what they are for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice

from penstock.dataset import Dataset
from penstock.options import Options
from penstock.testing.elements import assert_same_elements, collect

_VARIANTS: tuple[Options, ...] = (
    Options(),
    Options(executor="inline"),
    Options(cpu_budget=1),
    Options(block_size=2),
    Options(block_size=7),
    Options(block_size=1000, executor="inline"),
)


def assert_deterministic(
    dataset: Dataset,
    *,
    epochs: Iterable[int] = (0, 1),
    limit: int | None = None,
    options: Iterable[Options] = _VARIANTS,
) -> None:
    """The pipeline gives, in each epoch, the bytes it gives one element at a time in the consumer's own thread.

    limit: elements to look at, for endless pipelines. options: the ways of running to compare.
    Raises: AssertionError naming the options, the epoch and the first element that differs.
    """
    slow = dataset.with_options(Options(executor="inline", block_size=1))
    for epoch in epochs:
        expected = collect(slow, epoch, limit)
        for variant in options:
            got = collect(dataset.with_options(variant), epoch, limit)
            assert_same_elements(got, expected, f"epoch {epoch} under {variant}")


def assert_resumable(
    make: Callable[[], Dataset], *, epoch: int = 0, limit: int | None = None, steps: Iterable[int] | None = None
) -> None:
    """Interrupted after any element and taken up by a new process, the pipeline goes on as if nothing had been.

    make: builds the pipeline anew, as the new process would. limit: elements to look at. steps: where to interrupt;
    default everywhere. The state travels as JSON.
    Raises: AssertionError naming the step and the first element that differs; NotResumableError: as `state_dict`.
    """
    whole = collect(make(), epoch, limit)
    for step in range(len(whole) + 1) if steps is None else steps:
        with make().iterator(epoch=epoch) as iterator:
            before = [next(iterator) for _ in range(step)]
            state = json.loads(json.dumps(iterator.state_dict()))
        with make().iterator() as iterator:
            iterator.load_state_dict(state)
            after = list(islice(iterator, len(whole) - step))
            ended = limit is not None or next(iterator, None) is None
        assert_same_elements([*before, *after], whole, f"interrupted after {step} elements")
        assert ended, f"interrupted after {step} elements: more came than without"
