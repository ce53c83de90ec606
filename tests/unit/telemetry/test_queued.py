"""Waiting for a core is shared out among the steps of a stage, and never more than a step was off one."""

from __future__ import annotations

import pytest

from penstock.telemetry.queued import with_queued
from penstock.telemetry.trace import StepTrace


def _step(busy_s: float, cpu_s: float, stage: str = "0", storage_s: float = 0.0, part_of: str = "") -> StepTrace:
    return StepTrace(
        id="1:map", verb="map", label="map", stage=stage, busy_s=busy_s, cpu_s=cpu_s, storage_s=storage_s,
        part_of=part_of,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "asked", "queued"),
    [
        ([_step(4, 2)], {"0": (4.0, 1.0)}, [1.0]),
        ([_step(4, 2)], {"0": (2.0, 0.5)}, [1.0]),  # half of the tasks were asked
        ([_step(4, 2), _step(4, 1)], {"0": (8.0, 2.5)}, [1.0, 1.5]),
        ([_step(4, 3)], {"0": (4.0, 3.0)}, [1.0]),  # no longer than it was off a core
        ([_step(4, 1, storage_s=2)], {"0": (4.0, 0.5)}, [0.5]),
        ([_step(4, 4)], {"0": (4.0, 1.0)}, [0.0]),
        ([_step(4, 2), _step(1, 0, part_of="1:map")], {"0": (4.0, 1.0)}, [1.0, None]),
        ([_step(4, 2), _step(4, 2, stage="1")], {"0": (4.0, 1.0)}, [1.0, None]),
        ([_step(4, 2)], {"0": (0.0, 0.0)}, [None]),
    ],
)
def test_queued_is_shared_out(
    steps: list[StepTrace], asked: dict[str, tuple[float, float]], queued: list[float | None]
) -> None:
    assert [step.queued_s for step in with_queued(steps, asked)] == queued
