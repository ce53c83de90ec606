"""Traces of pipelines of every kind are consistent: what the last step gave is what was delivered, sums add up."""

from __future__ import annotations

import warnings
from itertools import islice
from pathlib import Path

import pytest

from penstock import Options
from penstock.telemetry.saved import load_trace, save_trace
from tests.conformance.registry import CASES

_EACH = 6  # every so many of the registry: all kinds of stages are among them
_NAMES = sorted(CASES)[::_EACH]


@pytest.mark.parametrize("executor", [None, "inline"])
@pytest.mark.parametrize("name", _NAMES)
def test_a_trace_is_consistent(name: str, executor: str | None, files: Path, tmp_path: Path) -> None:
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = case.build(files)
        if executor is not None:
            dataset = dataset.with_options(Options(executor=executor))
        with iter(dataset) as iterator:
            delivered = sum(1 for _ in islice(iterator, case.limit))
            trace = iterator.trace()
    stages = {stage.id for stage in trace.stages}
    steps = {step.id: step for step in trace.steps}
    nodes = {node.id for node in trace.nodes}
    assert trace.consumer.steps == trace.consumer.requests == delivered
    assert len(steps) == len(trace.steps)
    assert {step.stage for step in trace.steps} <= stages
    assert {step.part_of for step in trace.steps} <= {*steps, ""}
    assert {name for stage in trace.stages for name in stage.inputs} <= stages
    assert {name for node in trace.nodes for name in node.inputs} <= nodes
    assert [stage.id for stage in trace.stages] == [str(number) for number in range(len(stages))]
    for step in trace.steps:
        assert min(step.elements, step.bytes_in, step.bytes_out, step.calls, step.storage_bytes) >= 0
        assert min(step.busy_s, step.cpu_s, step.storage_s) >= -1e-6
        assert step.element_s is None or list(step.element_s) == sorted(step.element_s)
    last = steps.get(trace.nodes[0].id)
    if last is not None and not case.endless and trace.nodes[0].verb not in ("repeat", "skip", "take_while"):
        assert last.elements >= delivered  # it may have given what was left out behind it, never less
    save_trace(trace, tmp_path / "trace.json")
    assert load_trace(tmp_path / "trace.json") == trace
