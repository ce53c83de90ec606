"""Traces made by hand: one stage over another, with round numbers."""

from __future__ import annotations

from typing import Any

from penstock.machine.readings import Capacities, Host
from penstock.telemetry.trace import Consumer, StageTrace, StepTrace, Trace


def step(verb: str, stage: str = "0", elements: int = 1000, **given: Any) -> StepTrace:
    """A verb that put out so many elements; its label is its name."""
    return StepTrace(
        **{"id": f"{verb}-{stage}", "verb": verb, "label": verb, "stage": stage, "elements": elements} | given
    )


def stage(id_: str = "0", **given: Any) -> StageTrace:
    return StageTrace(**{"id": id_, "kind": "indexed", "label": f"stage {id_}"} | given)


def run(
    *steps: StepTrace,
    stages: tuple[StageTrace, ...] = (),
    rows: int = 1000,
    batch: int = 10,
    seconds: float = 10.0,
    step_s: float = 0.0,
    cpus: int = 2,
    capacities: Capacities | None = None,
    consumer: dict[str, Any] | None = None,
    **given: Any,
) -> Trace:
    """A run of `rows` elements in batches, `seconds` long; a step of its trainer takes `step_s` of its own."""
    batches = rows // batch
    if batch > 1 and not any(one.verb == "batch" for one in steps):
        steps = (step("batch", elements=batches), *steps)
    between_s = step_s * (batches - 1)
    of_trainer = {"steps": batches, "rows": rows, "wait_s": seconds - between_s, "between_s": between_s}
    return Trace(
        **{
            "source": "penstock",
            "loader": "train.py:1",
            "host": Host(cpus=cpus, memory_bytes=2**33, capacities=capacities or Capacities()),
            "consumer": Consumer(**of_trainer | (consumer or {})),
            "seconds": seconds,
            "stages": stages or (stage(workers=2),),
            "steps": steps,
        }
        | given
    )
