"""Each kind of finding is found in a run that has it, and in no healthy one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.diagnose import diagnose
from penstock.machine.readings import Host
from penstock.telemetry.trace import Retrace, SlowElement, StepTrace, Trace
from tests.unit.diagnose.traces import (
    GIB,
    IO_PRESSURE,
    consumer,
    foreign,
    node,
    op,
    ours,
    samples,
    stage,
    step,
    waiting,
    workers,
)

GRAPH = (
    node("batch", 14, "map", cardinality=1000, facts={"batch_size": 64}),
    node("map", 12, "from_folder", cardinality=64000, element_bytes=150e3),
    node("from_folder", 11, cardinality=64000, element_bytes=60.0, facts={"storage": "local"}),
)


def _shuffled(buffer: int, count: int, **facts: Any) -> Trace:
    nodes = (
        node("batch", 14, "shuffle", facts={"batch_size": 64}),
        node("shuffle", 13, "from_generator", cardinality=count, facts={"buffer_size": buffer, **facts}),
        node("from_generator", 11, cardinality=count),
    )
    return ours(0.0, nodes=nodes)


def _cached(*, draws: bool = False, verb: str = "map") -> Trace:
    nodes = (
        node("batch", 14, "cache"), node("cache", 13, verb), node(verb, 12, "from_folder", draws=draws),
        node("from_folder", 11),
    )  # fmt: skip
    return ours(0.0, nodes=nodes)


def _retraced(count: int, cost_s: float | None = None) -> Trace:
    shapes = tuple(
        Retrace(step=n, leaf="tokens", before=f"(64, {n})", after=f"(64, {n + 1})", cost_s=cost_s) for n in range(count)
    )
    return ours(0.0, retraces=shapes)


def _interleaved(quantiles: tuple[float, float, float, float]) -> Trace:
    at = "interleave at train.py:12"
    child = step("from_generator", 18.0, part_of=at, element_s=quantiles)
    return ours(steps=(step("interleave", 20.0, cpu_s=1.0), child), nodes=(node("interleave", 12),))


TAIL = step(busy_s=60.0, element_s=(0.001, 0.002, 0.09, 0.12), slow=(SlowElement(origin="dog/1871.jpg", seconds=0.12),))
TORCH = {"num_workers": 4, "prefetch_factor": 2, "pin_memory": True, "persistent_workers": False}

FOUND: dict[str, tuple[str, Trace]] = {
    "ours: decoding": ("slow_decode", ours(steps=(step(busy_s=70.0), op("decode_jpeg", 60.0), op("resize", 8.0)))),
    "ours: decoding, fused with what follows": (
        "slow_decode", ours(steps=(step(busy_s=70.0), op("fused.images", 64.0))),
    ),
    "ours: decoding as a step": ("slow_decode", ours(steps=(step("decode_jpeg", 70.0),))),
    "ours: function": ("slow_function", ours()),
    "ours: storage": ("slow_storage", ours(steps=(step(busy_s=70.0, cpu_s=2.0, storage_s=60.0, storage_bytes=10**9),))),
    "ours: GIL": ("gil_bound", ours(steps=(step(busy_s=70.0, cpu_s=9.0, gil_s=65.0),), samples=samples(0.15))),
    "ours: Python in threads": (
        "gil_bound",
        ours(steps=(step(busy_s=70.0, cpu_s=9.0),), nodes=(node("map", 12, facts={"compiles": False}),)),
    ),
    "ours: waits for something": ("slow_function", ours(steps=(step(busy_s=70.0, cpu_s=2.0),), samples=samples(0.1))),
    "ours: cores are taken": ("cores_taken", ours(steps=(step(busy_s=70.0, cpu_s=10.0, queued_s=55.0),))),
    "ours: one worker": (
        "no_parallelism",
        ours(0.2, stages=(stage(workers=1, said=True),), steps=(step(busy_s=20.0),), samples=samples(0.12)),
    ),
    "ours: one worker ahead, somewhat too slow": (
        "no_parallelism",
        ours(0.02, stages=(stage(workers=1, said=True),), steps=(step(busy_s=6.8),), samples=samples(0.12)),
    ),
    "ours: inline": (
        "no_prefetch",
        ours(0.04, stages=(stage(workers=1, executor="inline"),), steps=(step(busy_s=4.0),), samples=samples(0.12)),
    ),
    "ours: tail": ("heavy_tail", ours(steps=(TAIL,))),
    "ours: small buffer": ("small_shuffle_buffer", _shuffled(100, 50_000)),
    "ours: small buffer, endless": ("small_shuffle_buffer", _shuffled(64, -2)),
    "ours: cache above a random map": ("cache_after_random", _cached(draws=True)),
    "ours: cache above a shuffle": ("cache_after_random", _cached(verb="shuffle")),
    "ours: cache would pay": ("cache", ours(nodes=GRAPH)),
    "ours: could be compiled": (
        "not_compiled",
        ours(nodes=(node("map", 12, facts={"compiles": False, "why_python": "calls helper, which ..."}),)),
    ),
    "ours: huge elements": ("large_elements", ours(0.0, nodes=(node("map", 12, element_bytes=1.0 * GIB),))),
    "ours: retraces": ("retrace", _retraced(12)),
    "ours: one dear retrace": ("retrace", _retraced(1, cost_s=4.0)),
    "ours: compute-bound": ("slow_model", ours(0.0)),
    "ours: sawtooth": ("sawtooth", ours(samples=samples(0.5, used=lambda n: (0.95, 0.05)[n % 6 > 2]))),
    "ours: low use": ("low_use", ours(0.0, samples=samples(0.2, used=lambda _: 0.2))),
    "ours: throttled": ("throttled", ours(0.0, samples=samples(used=lambda _: 0.9, throttled=("power cap",)))),
    "ours: memory creeps": ("memory_creep", ours(0.0, samples=samples(count=120, rss=lambda n: GIB * (1 + n / 40)))),
    "torch: no workers": ("no_parallelism", foreign("torch", 0.2, settings={"num_workers": 0})),
    "torch: takes turns": ("no_prefetch", foreign("torch", 0.04, settings={"num_workers": 0})),
    "torch: workers at their limit": ("slow_function", foreign("torch", cores=0.95, settings=TORCH)),
    "torch: waits for a disk": (
        "slow_storage", foreign("torch", settings=TORCH, samples=samples(0.1, pressure=IO_PRESSURE)),
    ),
    "torch: straggler, timed": ("straggler", foreign("torch", settings=TORCH, workers=workers(0.01, 0.01, 0.05))),
    "ours: one input of an interleave": ("straggler", _interleaved((0.001, 0.02, 0.021, 0.025))),
    "ours: remote": (
        "slow_storage",
        ours(steps=(step(busy_s=70.0, cpu_s=1.0),), nodes=(node("from_bytes", 11, facts={"storage": "remote"}),)),
    ),
    "torch: downloads": (
        "slow_storage",
        foreign("torch", settings=TORCH, stages=(stage(kind="loader"),), steps=(
            step("dataset", 70.0, cpu_s=1.0), op("urlopen", 65.0, "dataset at train.py:12", cpu_s=0.0),
        )),
    ),
    "torch: tail": (
        "heavy_tail",
        waiting(foreign("torch", settings=TORCH), lambda n: 0.9 if n in (7, 20, 41, 58, 70, 83, 95) else 0.0005),
    ),
    "torch: unpinned": (
        "slow_transfer",
        foreign("torch", settings={**TORCH, "pin_memory": False}, samples=samples(0.6, used=lambda _: 0.5)),
    ),
    "torch: idle": ("idle_cores", foreign("torch", settings=TORCH)),
    "tf.data: no parallel calls": (
        "no_parallelism", foreign("tf.data", 0.2, settings={"num_parallel_calls": None, "prefetch": -1}),
    ),
    "tf.data: no prefetch": (
        "no_prefetch", foreign("tf.data", 0.04, settings={"num_parallel_calls": -1, "prefetch": None}),
    ),
    "tf.data: Python": (
        "gil_bound",
        foreign("tf.data", cores=0.14, settings={"num_parallel_calls": -1, "prefetch": -1, "python_function": True}),
    ),
    "tf.data: Python in its graph": (
        "gil_bound",
        foreign("tf.data", settings={"num_parallel_calls": -1, "prefetch": True}, steps=(
            step(busy_s=40.0), op("PyFunc", 39.0), step("function", 4.0, label="count at train.py:3"),
            op("python", 3.9, "count at train.py:3"),
        )),
    ),
    "tf.data: small buffer": (
        "small_shuffle_buffer", foreign("tf.data", 0.0, settings={"shuffle_buffer": 16, "batch_size": 64}),
    ),
    "keras: threads": (
        "gil_bound", foreign("keras", cores=0.14, settings={"workers": 4, "use_multiprocessing": False}),
    ),
    "keras: one worker": ("no_parallelism", foreign("keras", 0.2, settings={"workers": 1})),
    "grain: no workers": ("no_parallelism", foreign("grain", 0.2, settings={"worker_count": 0})),
    "iterable": ("no_parallelism", foreign("iterable", 0.2)),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_each_kind_is_found(name: str) -> None:
    kind, trace = FOUND[name]
    diagnosis = diagnose(trace)
    assert kind in [finding.kind for finding in diagnosis.findings], str(diagnosis)


@pytest.mark.parametrize("name", FOUND)
def test_a_finding_says_what_it_rests_on_and_what_to_do(name: str) -> None:
    kind, trace = FOUND[name]
    finding = next(one for one in diagnose(trace).findings if one.kind == kind)
    assert finding.claim
    assert finding.blame
    assert finding.evidence or kind == "cache_after_random"
    assert finding.advice or finding.level == "note"


BESIDE = ("cache", "cores_taken", "sawtooth", "not_compiled", "slow_transfer")  # these leave others their say
EXACT = {name: kind for name, (kind, _) in FOUND.items() if kind not in BESIDE}


@pytest.mark.parametrize("name", EXACT)
def test_one_fault_gives_one_finding(name: str) -> None:
    kinds = [one.kind for one in diagnose(FOUND[name][1]).findings if one.level != "note"]
    assert kinds in ([EXACT[name]], [])


HEALTHY = {
    "ours, fed": ours(0.0, nodes=GRAPH),
    "ours, nearly fed": ours(0.003, nodes=GRAPH),
    "ours, balanced": ours(0.008, nodes=GRAPH, stages=(stage(workers=1),)),
    "ours, permuted": _shuffled(100, 50_000, how="permutation"),
    "ours, good buffer": _shuffled(10_000, 50_000),
    "ours, buffer holds all": _shuffled(1000, 900),
    "ours, endless and buffered": _shuffled(1000, -2),
    "ours, cached rightly": _cached(),
    "ours, last batch is short": _retraced(1, cost_s=0.01),
    "ours, memory fills and stays": ours(0.0, samples=samples(count=120, rss=lambda n: GIB * min(1 + n / 20, 3))),
    "ours, clocks of an idle device": ours(0.0, samples=samples(used=lambda _: 0.5, throttled=("gpu idle",))),
    "ours, a tail that nobody waits for": ours(0.0, steps=(TAIL,)),
    "ours, one worker is enough": ours(0.0, stages=(stage(workers=1, said=True),)),
    "ours, host wait but ready": ours(0.05, consumer=consumer(0.05, method="host wait", ready=100)),
    "torch, fed": foreign("torch", 0.0, settings=TORCH),
    "torch, no workers, small data": foreign("torch", 0.001, settings={"num_workers": 0}),
    "torch, busy device behind an upper bound": foreign(
        "torch", settings=TORCH, consumer=consumer(0.05, method="host wait"), samples=samples(used=lambda _: 0.97)
    ),
    "torch, nothing told": foreign("torch", 0.0),
    "tf.data, fed": foreign("tf.data", 0.0, settings={"num_parallel_calls": None, "prefetch": None}),
    "keras, fed": foreign("keras", 0.0, settings={"workers": 1}),
    "iterable, fed": foreign("iterable", 0.001),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_raises_no_alarm(name: str) -> None:
    diagnosis = diagnose(HEALTHY[name])
    assert diagnosis.faults == (), str(diagnosis)
    assert diagnosis.line.endswith("Nothing to fix.")


def test_a_finding_explained_by_a_more_particular_one_is_left_out() -> None:
    trace = FOUND["ours: storage"][1]
    assert [one.kind for one in diagnose(trace).findings] == ["slow_storage"]


def test_faults_come_first() -> None:
    levels = [one.level for one in diagnose(replace(ours(0.1, nodes=GRAPH), retraces=_retraced(4).retraces)).findings]
    assert levels == sorted(levels, key=("fault", "hint", "note").index)
    assert "fault" in levels


def test_waits_in_bursts_of_as_many_as_there_are_workers_are_no_straggler() -> None:
    trace = waiting(foreign("torch", settings=TORCH, workers=workers(0.01, 0.011)), lambda n: 0.3 * (n % 2))
    assert "straggler" not in [one.kind for one in diagnose(trace).findings]


def test_one_speed_with_a_tail_is_no_straggler() -> None:
    assert "straggler" not in [one.kind for one in diagnose(_interleaved((0.001, 0.002, 0.02, 0.1))).findings]


def test_elements_that_only_lost_their_core_are_no_tail() -> None:
    crowded = replace(TAIL, cpu_s=6.0)
    assert "heavy_tail" not in [one.kind for one in diagnose(ours(steps=(crowded,))).findings]
    assert "heavy_tail" in [one.kind for one in diagnose(ours(steps=(crowded,), samples=samples(0.2))).findings]


@pytest.mark.parametrize(("cpu_s", "found"), [(60.0, True), (12.0, False)])
def test_a_tail_shows_in_the_means_of_blocks(cpu_s: float, found: bool) -> None:
    times = (0.0036, 0.026, 0.037, 0.1)
    blocks = step(busy_s=70.0, cpu_s=cpu_s, calls=400, element_s=times)
    trace = ours(steps=(blocks,), nodes=(node("map", 12, facts={"compiles": True}),))
    assert ("heavy_tail" in [one.kind for one in diagnose(trace).findings]) == found


def test_what_a_foreign_loader_was_told_counts_before_its_stage() -> None:
    told = {"num_parallel_calls": -1, "prefetch": True}
    trace = foreign("tf.data", 0.2, cores=0.9, settings=told, stages=(stage(workers=1),), steps=(step(busy_s=20.0),))
    assert diagnose(trace).findings[0].kind == "slow_function"


def test_python_that_sleeps_holds_no_gil() -> None:
    steps = (step(busy_s=40.0), op("PyFunc", 39.0), step("function", 4.0, label="f"), op("sleep", 3.9, "f"))
    found = diagnose(foreign("tf.data", settings={"num_parallel_calls": -1, "prefetch": True}, steps=steps)).findings
    assert "gil_bound" not in [one.kind for one in found]


def test_cores_that_others_use_are_not_ours_to_spare() -> None:
    trace = ours(0.2, stages=(stage(workers=1, said=True),), steps=(step(busy_s=20.0),), samples=samples(0.99))
    assert [one.kind for one in diagnose(trace).findings] == ["no_parallelism", "cores_taken"]


def test_the_only_function_of_a_foreign_pipeline_is_to_blame() -> None:
    nodes = (node("batch", 14, "map"), node("map", 12))
    assert diagnose(foreign("tf.data", cores=0.95, nodes=nodes)).verdict.stage == "map at train.py:12"


def test_a_cache_that_memory_does_not_hold_goes_to_disk() -> None:
    small = ours(nodes=GRAPH, host=Host(cpus=8, memory_bytes=4 * GIB))
    advice = next(one for one in diagnose(small).findings if one.kind == "cache").advice[0]
    assert '.cache("DIR")' in advice
    assert "after train.py:12" in advice


def test_no_cache_is_advised_above_what_is_random() -> None:
    nodes = tuple(replace(one, draws=one.verb == "map") for one in GRAPH)
    assert "cache" not in [one.kind for one in diagnose(ours(nodes=nodes)).findings]


@pytest.mark.parametrize(("cpu_s", "processes"), [(20.0, True), (1.0, False)])
def test_a_step_in_order_is_told_why_and_what_lets_its_calls_overlap(cpu_s: float, processes: bool) -> None:
    trace = ours(
        0.2, stages=(stage(workers=1, serial=True, reason="it reads the global `seen`"),),
        steps=(step(busy_s=20.0, cpu_s=cpu_s),), samples=samples(0.12),
    )  # fmt: skip
    advice = diagnose(trace).findings[0].advice[0]
    assert "it reads the global `seen`" in advice
    assert "say num_parallel_calls=" in advice
    assert ('executor="processes"' in advice) == processes


def test_remote_storage_is_read_further_ahead() -> None:
    nodes = (node("map", 12, "from_tensor_slices"), node("from_tensor_slices", 11, facts={"storage": "remote"}))
    trace = ours(steps=(step(busy_s=70.0, cpu_s=2.0, storage_s=60.0),), nodes=nodes)
    assert "read further ahead" in diagnose(trace).findings[0].advice[0]


def test_blame_falls_on_the_step_that_holds_its_workers_longest() -> None:
    steps: tuple[StepTrace, ...] = (
        step("batch", 1.0, label="batch at train.py:14", stage="1"),
        step("map", 20.0, label="map at train.py:12", stage="0"),
        step("map", 15.0, label="map at train.py:13", stage="1"),
    )
    trace = ours(stages=(stage(id="1", workers=1), stage(id="0", workers=8)), steps=steps)
    assert diagnose(trace).verdict.stage == "map at train.py:13"
