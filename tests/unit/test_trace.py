"""What `iterator.trace()` tells of a pipeline: its nodes with what they were told, stages, steps, requests."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.telemetry.saved import load_trace, save_trace
from penstock.telemetry.trace import NodeTrace, Trace

SEEN: list[Any] = []


def logged(x: Any) -> Any:
    SEEN.append(x)
    return x


def traced(dataset: Dataset, take: int | None = None) -> Trace:
    with iter(dataset) as iterator:
        for number, _ in enumerate(iterator, 1):
            if number == take:
                break
        return iterator.trace()


def node(trace: Trace, verb: str) -> NodeTrace:
    return next(node for node in trace.nodes if node.verb == verb)


def test_the_consumer_is_told_in_batches_and_rows() -> None:
    trace = traced(Dataset.range(10).map(lambda x: x + 1).batch(4))
    consumer = trace.consumer
    assert (consumer.steps, consumer.rows, consumer.requests) == (3, 10, 3)
    assert consumer.method == "host wait"
    assert consumer.starved_s is None
    assert 0 < consumer.first_s <= consumer.wait_s <= trace.seconds
    assert len(trace.intervals) == 3
    assert trace.intervals[0].wait_s == consumer.first_s


@pytest.mark.parametrize(
    ("dataset", "rows"),
    [
        (Dataset.range(10), 10),
        (Dataset.range(10).batch(4).unbatch(), 10),
        (Dataset.range(10).batch(4).map(lambda x: x + 1).prefetch(2), 10),
        (Dataset.range(6).map(lambda x: np.arange(x)).padded_batch(4), 6),
        (Dataset.range(10).batch(4).map(lambda x: x.sum()), None),
    ],
)
def test_rows_are_counted_where_elements_are_batches(dataset: Dataset, rows: int | None) -> None:
    assert traced(dataset).consumer.rows == rows


def test_rows_of_a_block_that_is_half_delivered_are_counted_as_delivered() -> None:
    assert traced(Dataset.range(1000).batch(3), take=5).consumer.rows == 15


def test_a_trace_can_be_taken_before_during_and_after() -> None:
    iterator = iter(Dataset.range(10))
    assert iterator.trace().consumer.steps == 0
    next(iterator)
    assert iterator.trace().consumer.steps == 1
    iterator.close()
    last = iterator.trace()
    assert last.consumer.steps == 1
    assert last.seconds == iterator.trace().seconds


def test_nodes_tell_what_they_were_told(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(bytes(range(32)))
    dataset = (
        Dataset.from_tensor_slices([str(file)] * 8)
        .shuffle(5, seed=1)
        .map(logged, num_parallel_calls=3)
        .cache()
        .map(lambda path: path.strip())
        .batch(2)
        .prefetch(7)
    )
    trace = traced(dataset)
    assert [node.verb for node in trace.nodes] == [
        "prefetch", "batch", "map", "cache", "map", "shuffle", "from_tensor_slices",
    ]  # fmt: skip
    assert trace.nodes[0].facts["buffer_size"] == 7
    assert node(trace, "batch").facts["batch_size"] == 2
    assert node(trace, "cache").facts["cache"] == "memory"
    assert node(trace, "shuffle").facts["buffer_size"] == 5
    assert node(trace, "shuffle").draws
    assert node(trace, "from_tensor_slices").facts == {"path": str(file), "files": 8, "storage": "local"}
    python = trace.nodes[4].facts
    assert python["compiles"] is False
    assert "why_python" in python
    assert python["num_parallel_calls"] == 3
    assert [one.inputs for one in trace.nodes[:-1]] == [(one.id,) for one in trace.nodes[1:]]


def test_what_compiled_and_what_draws_is_told() -> None:
    def flipped(image: Any) -> Any:
        return ps.image.random_flip_left_right(image)

    images = np.zeros((4, 6, 6, 3), np.uint8)
    trace = traced(Dataset.from_tensor_slices(images).map(flipped).map(lambda image: image + 1).batch(2))
    plain, drawing = [node for node in trace.nodes if node.verb == "map"]
    assert drawing.facts["compiles"] is True
    assert drawing.draws
    assert plain.facts["compiles"] is True
    assert not plain.draws


def test_python_that_draws_is_known_by_the_names_it_uses() -> None:
    def noisy(x: Any) -> Any:
        return x + np.random.default_rng().normal()

    assert node(traced(Dataset.range(4).map(noisy)), "map").draws


def test_every_step_belongs_to_a_stage_and_stages_to_each_other() -> None:
    source = Dataset.from_generator(lambda: iter(range(20)), output_signature=ps.Spec((), "int64"))
    trace = traced(source.map(logged).filter(lambda x: x % 2 == 0).batch(4).repeat(2))
    ids = {stage.id for stage in trace.stages}
    assert {step.stage for step in trace.steps} <= ids
    assert {name for stage in trace.stages for name in stage.inputs} == ids - {trace.stages[0].id}
    assert len({step.id for step in trace.steps}) == len(trace.steps)
    batch = next(stage for stage in trace.stages if stage.label.startswith("batch"))
    assert batch.tasks >= 2
    assert batch.occupancy


def test_steps_of_nested_datasets_belong_to_the_verb_that_opened_them() -> None:
    trace = traced(Dataset.range(4).flat_map(lambda x: Dataset.range(3).map(logged)))
    inner = [step for step in trace.steps if step.part_of]
    assert inner
    assert {step.part_of for step in inner} == {node(trace, "flat_map").id}


def test_options_that_were_said_are_settings() -> None:
    trace = traced(Dataset.range(4).with_options(Options(executor="inline", ram_budget="1 MiB")))
    assert trace.settings["executor"] == "inline"
    assert trace.settings["ram_budget_bytes"] == 2**20


def test_a_trace_of_a_run_reads_back_equal(tmp_path: Path) -> None:
    trace = traced(Dataset.range(100).shuffle(10).map(lambda x: x * 2).batch(7))
    save_trace(trace, tmp_path / "a.json")
    assert load_trace(tmp_path / "a.json") == trace


def waits(x: Any) -> Any:
    time.sleep(0.3 if x == 77 else 0.0003)
    return x


def test_the_slowest_element_is_named() -> None:
    trace = traced(Dataset.range(100).map(waits, num_parallel_calls=2).with_options(Options(executor="threads")))
    step = next(step for step in trace.steps if step.verb == "map")
    assert step.element_s is not None
    assert step.element_s[0] < 0.3 <= step.element_s[3]
    assert step.slow[0].origin.startswith("element 77 of range")


@pytest.mark.parametrize("function", [lambda name: ps.io.read_file(name), lambda name: len(ps.io.read_file(str(name)))])
def test_what_was_read_is_counted(function: Any, tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(20)]
    for file in files:
        file.write_bytes(bytes(1000))
    trace = traced(Dataset.from_tensor_slices([str(file) for file in files]).map(function).batch(4))
    step = next(step for step in trace.steps if step.verb == "map")
    assert 20_000 <= step.storage_bytes <= 30_000  # the first rows are tried both ways
    assert 0 < step.storage_s <= step.busy_s
    assert step.bytes_in == next(step for step in trace.steps if step.verb == "from_tensor_slices").bytes_out


def test_lines_that_are_read_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a line\n" * 1000)
    trace = traced(ps.TextLineDataset(str(tmp_path / "a.txt")).batch(64))
    assert sum(step.storage_bytes for step in trace.steps) == 7000


def test_ops_of_a_compiled_function_are_part_of_it() -> None:
    def scaled(x: Any) -> Any:
        return np.sqrt(x) * 2.0

    trace = traced(Dataset.from_tensor_slices(np.ones((64, 8))).map(scaled).batch(8))
    step = next(step for step in trace.steps if step.verb == "map")
    ops = [one for one in trace.steps if one.part_of == step.id]
    assert len(ops) == 2
    assert sum(op.busy_s for op in ops) <= step.busy_s


@pytest.mark.usefixtures("warm_pool")
def test_elements_in_processes_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(bytes(100))
    names = Dataset.from_tensor_slices([str(file)] * 200)
    trace = traced(names.map(read_slowly, num_parallel_calls=2, executor="processes"))
    step = next(step for step in trace.steps if step.verb == "map")
    assert 20_000 <= step.storage_bytes <= 22_000  # the first rows are tried both ways
    assert step.element_s is not None
    assert step.slow
    assert trace.stages[0].executor == "processes"


def read_slowly(name: str) -> int:
    time.sleep(1e-4)
    return len(ps.io.read_file(name))
