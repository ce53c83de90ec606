"""An emulated accelerator: a loop that takes a batch and is busy for a given time, on no core of this machine.

Each wait ends at an absolute time, the one before plus the time spent fetching plus the step, so that a sleep that is
too long is made up for by the next and does not count as compute.
Source: MLPerf Storage: AU is nominal compute time over wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from penstock.cli.demo.feeds import engine, generator, tf_data
from penstock.cli.demo.job import WARM_UP_STEPS, Job
from penstock.cli.demo.outcome import Outcome


def emulate_on_generator(job: Job, step_s: float, on_step: Callable[[int], None]) -> Outcome:
    with closing(generator.training(job)) as batches:  # type: ignore[type-var]  # it is a generator
        return run(generator.NAME, batches, job, step_s, on_step)


def emulate_on_tf_data(job: Job, step_s: float, on_step: Callable[[int], None]) -> Outcome:
    dataset = tf_data.training(job)
    return run(tf_data.NAME, (batch for _ in range(job.epochs) for batch in dataset), job, step_s, on_step)


def emulate_on_penstock(job: Job, step_s: float, on_step: Callable[[int], None]) -> Outcome:
    def epochs() -> Iterator[Any]:
        dataset = engine.training(job)
        for epoch in range(job.epochs):
            with dataset.iterator(epoch) as batches:
                yield from batches

    with closing(epochs()) as batches:  # type: ignore[type-var]  # it is a generator
        return run(engine.NAME, batches, job, step_s, on_step)


def run(
    name: str,
    batches: Iterator[Any],
    job: Job,
    step_s: float,
    on_step: Callable[[int], None],
    *,
    now: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Take `job.steps` batches, each followed by `step_s` of compute; the first few are warm-up."""
    started_s = deadline_s = now()
    waited_s = 0.0
    for step in range(1, job.steps + 1):
        asked_s = now()
        next(batches)
        fetch_s = now() - asked_s
        waited_s += fetch_s
        deadline_s += fetch_s + step_s
        sleep(max(0.0, deadline_s - now()))
        on_step(step)
        if step == WARM_UP_STEPS:
            started_s = deadline_s = now()
            waited_s = 0.0
    elapsed_s = now() - started_s
    steps = job.steps - WARM_UP_STEPS
    return Outcome(
        name,
        steps * job.batch_size / elapsed_s,
        elapsed_s / steps,
        min(1.0, waited_s / elapsed_s),
        au=min(1.0, steps * step_s / elapsed_s),
    )
