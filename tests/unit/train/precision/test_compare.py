"""Training twice and holding one against the other, on a step that is a fake; frameworks are in tests/framework."""

from __future__ import annotations

import math
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.train.precision import compare as compare_module
from penstock.train.precision.compare import compare_precision
from penstock.train.precision.comparison import PrecisionComparison, PrecisionRun


def run(precision: str, *losses: float, step_s: float = 1.0, device_bytes: int | None = None) -> PrecisionRun:
    return PrecisionRun(precision=precision, step_s=step_s, losses=losses, device_bytes=device_bytes)


def compared(*runs: PrecisionRun, tolerance: float = 0.05) -> PrecisionComparison:
    return PrecisionComparison(runs=runs, tolerance=tolerance, rows=2)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ((4.0, 2.0), 0.0),
        ((4.0, 2.4), 0.05),  # running means 4, 3 and 4, 3.2; of 4
        ((3.0, 3.0), 0.25),
        ((4.0, math.nan), math.inf),
        ((math.inf, 2.0), math.inf),
    ],
)
def test_deviation_is_between_running_means(losses: tuple[float, ...], expected: float) -> None:
    both = compared(run("float32", 4.0, 2.0), run("bfloat16", *losses), tolerance=0.1)
    assert both.deviation(both.runs[1]) == pytest.approx(expected)
    assert both.agrees(both.runs[1]) is (expected < 0.1)
    assert both.all_agree is (expected < 0.1)


def test_losses_of_zero_agree_with_zero_alone() -> None:
    both = compared(run("float32", 0.0), run("bfloat16", 0.0), run("mixed_float16", 0.1))
    assert [both.deviation(each) for each in both.runs] == [0.0, 0.0, 1.0]


def test_a_table_says_what_is_faster_and_what_agrees() -> None:
    both = compared(
        run("float32", 4.0, 2.0, step_s=0.2, device_bytes=2**30), run("mixed_float16", 4.0, math.nan, step_s=0.1)
    )
    head, first, second, last = str(both).splitlines()
    assert head.startswith("precision      step      half of them  speed   host memory  device memory")
    assert first.split() == "float32 200.0 ms - 1.00 x 0 B 1.0 GiB 4 2 0.00% yes".split()
    assert second.split() == "mixed_float16 100.0 ms - 2.00 x 0 B - 4 nan not finite NO".split()
    assert last == "2 steps on 2 batches; loss curves agree within 5%"


def test_each_precision_trains_on_the_same_batches_and_is_timed_after_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_module, "set_seed", lambda backend, seed: ())
    monkeypatch.setattr(compare_module, "set_precision", lambda backend, precision: (precision, ()))
    now, seen = [0.0], []

    def build(precision: str) -> Any:
        pace = {"float32": 4.0, "mixed_bfloat16": 1.0}[precision]

        def step(batch: int) -> float:
            seen.append((precision, batch))
            now[0] += pace if len(seen) % 5 > 2 else 100.0
            return batch / 2

        return step

    both = compare_precision(build, iter([1, 2, 3]), steps=5, backend="jax", clock=lambda: now[0])
    assert [each for _, each in seen] == [1, 2, 3, 1, 2] * 2
    assert [each.losses for each in both.runs] == [(0.5, 1.0, 1.5, 0.5, 1.0)] * 2
    assert both.all_agree
    assert [each.quartiles_s for each in both.runs] == [(4.0, 52.0), (1.0, 50.5)]
    assert [each.step_s for each in both.runs] == [4.0, 1.0]
    assert both.speedup(both.runs[1]) == 4.0
    assert both.rows == 3


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"steps": 3}, "steps"), ({"precisions": ("float32",)}, "two or more"), ({"data": []}, "no batch"),
        ({"precisions": ("float32", "float32")}, "two or more"), ({"precisions": ("float32", "half")}, "'half'"),
        ({"build": lambda: 3}, "got int, expected a compiled Keras model"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(
    arguments: dict[str, Any], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_module, "set_seed", lambda backend, seed: ())
    monkeypatch.setattr(compare_module, "set_precision", lambda backend, precision: (precision, ()))
    with pytest.raises(InvalidArgumentError, match=match):
        compare_precision(**{"build": lambda: None, "data": [1], "steps": 5, "backend": "jax", **arguments})
