"""Scaling and warm-up as tables of numbers, and once only."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.train import Runtime, Strategy, scale, scaled_rate
from penstock.train.schedule.scaling import Ramp, ramp_for

STRATEGY = Strategy(name="mirrored", backend="tensorflow", devices=("GPU:0", "GPU:1"), world=2)
RUNTIME = Runtime(backend="tensorflow", strategy=STRATEGY)


@pytest.mark.parametrize(
    ("base_batch", "batch", "rule", "expected"),
    [
        (256, 256, "linear", 0.1),
        (256, 1024, "linear", 0.4),
        (256, 64, "linear", 0.025),
        (256, 1024, "sqrt", 0.2),
        (256, 512, "sqrt", 0.1 * math.sqrt(2)),
    ],
)
def test_the_rate_goes_with_the_batch(base_batch: int, batch: int, rule: Any, expected: float) -> None:
    assert scaled_rate(0.1, base_batch=base_batch, batch=batch, rule=rule) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("steps", "start", "at"),
    [
        (4, 0.0, [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]),
        (2, 0.5, [0.5, 0.75, 1.0, 1.0]),
        (0, 0.0, [1.0, 1.0]),
        (3, 1.0, [1.0, 1.0]),
    ],
)
def test_the_ramp_is_a_straight_line(steps: int, start: float, at: list[float]) -> None:
    ramp = Ramp(steps, start)
    assert [ramp(step) for step in range(len(at))] == pytest.approx(at)


@pytest.mark.parametrize(("factor", "start", "expected"), [(4.0, None, 0.25), (0.5, None, 0.0), (4.0, 0.1, 0.1)])
def test_the_ramp_of_a_scaled_rate_begins_with_the_rate_before(
    factor: float, start: float | None, expected: float
) -> None:
    assert ramp_for(factor, 10, start).start == expected


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"rule": "cubic"}, '\'cubic\', expected "linear" or "sqrt"'),
        ({"base_batch": 0}, "base_batch; got 0"),
        ({"batch": 2.5}, "batch; got 2.5"),
        ({"warmup_steps": -1}, "steps; got -1"),
        ({"start": 2.0}, "start; got 2.0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(named: dict[str, Any], message: str) -> None:
    optimizer = SimpleNamespace(param_groups=[{"lr": 0.1}])
    with pytest.raises(InvalidArgumentError, match=message):
        scale(optimizer, RUNTIME, **{"base_batch": 32, **named})
    assert optimizer.param_groups == [{"lr": 0.1}]


def test_each_group_is_scaled_to_the_replicas_and_marked_where_checkpoints_keep_it() -> None:
    optimizer = SimpleNamespace(param_groups=[{"lr": 0.1}, {"lr": 0.01}])
    scaled = scale(optimizer, RUNTIME, base_batch=32)
    assert (scaled.batch, scaled.factor, scaled.scheduler) == (128, 4.0, None)
    assert [group["lr"] for group in optimizer.param_groups] == [0.4, 0.04]
    assert str(scaled) == "learning rate x 4 (linear, batch 32 -> 128)"
    loaded = SimpleNamespace(param_groups=[dict(group) for group in optimizer.param_groups])
    for again in (optimizer, loaded):
        with pytest.raises(InvalidArgumentError, match="scaled already, by 4"):
            scale(again, RUNTIME, base_batch=32)


def test_a_scheduler_that_was_there_before_is_a_question() -> None:
    with pytest.raises(InvalidArgumentError, match="scale first, then make the scheduler"):
        scale(SimpleNamespace(param_groups=[{"lr": 0.1, "initial_lr": 0.1}]), RUNTIME, base_batch=32)


def test_an_optax_transformation_is_told_what_to_write() -> None:
    with pytest.raises(InvalidArgumentError, match=r"jax_warm_up\(penstock.train.scaled_rate"):
        scale(SimpleNamespace(init=None, update=None), RUNTIME, base_batch=32)
