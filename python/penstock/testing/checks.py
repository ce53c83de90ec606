"""The laws of Penstock as checks of one pipeline. They run it many times: give them a small one.

A pipeline breaks them when its functions depend on more than their arguments: on call order, on time, on global random
state. `random_map` and the random ops do not, which is what they are for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

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
    """Taken up after any element by a new process, the pipeline goes on as if nothing had been.

    make: builds the pipeline anew, as the new process would. limit: elements to look at. steps: where; default
    everywhere. All states are taken in one pass and travel as JSON.
    Raises: AssertionError naming the step and the first element that differs; NotResumableError: as `state_dict`.
    """
    whole = collect(make(), epoch, limit)
    wanted = range(len(whole) + 1) if steps is None else sorted(set(steps))
    states: list[str] = []
    before: list[Any] = []
    with make().iterator(epoch=epoch) as iterator:
        for step in wanted:
            before += islice(iterator, step - len(before))
            states.append(json.dumps(iterator.state_dict()))
    assert_same_elements(before, whole[: len(before)], "while states were taken")
    for step, state in zip(wanted, states, strict=True):
        with make().iterator() as iterator:
            iterator.load_state_dict(json.loads(state))
            after = list(islice(iterator, len(whole) - step))
            ended = limit is not None or next(iterator, None) is None
        assert_same_elements(after, whole[step:], f"resumed after {step} elements")
        assert ended, f"resumed after {step} elements: more came than without"
