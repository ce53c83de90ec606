"""Tuning of real runs: who starts where, what is logged, what is kept, frozen and refused."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import penstock as ps
from penstock import AutotuneOptions, Options
from penstock.errors import InvalidArgumentError
from penstock.session import PipelineIterator, tuning
from penstock.telemetry.trace import TuningEntry
from penstock.tune.values import Decision, Look
from penstock.tuned import FrozenTuning, StageTuning


def opaque(x: np.int64) -> np.int64:
    return np.int64(int(x) + 1)


def dataset(elements: int = 400) -> ps.Dataset:
    return ps.Dataset.range(elements).map(opaque).batch(4)


class Once:
    """A tuner that makes one decision, at its first look."""

    asked: int = 0

    def __init__(self) -> None:
        self._done = False

    def look(self, look: Look) -> list[Decision]:
        if self._done or not look.stages[0].tasks:
            return []
        self._done = True
        stage = look.stages[0]
        Once.asked += 1
        return [
            Decision(
                stage=stage.stage, knob="parallelism", before=stage.parallelism, after=7, why="told", predicted=3.0
            )
        ]


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "INTERVAL_S", 0.0)
    monkeypatch.setattr(tuning, "Tuner", Once)


def worst(made: ps.Dataset) -> FrozenTuning:
    with made.iterator() as iterator:
        return ps.freeze(iterator).with_all(parallelism=1, prefetch=1, block_size=1, read_ahead=0)


def started(made: ps.Dataset, start: FrozenTuning, *, enabled: bool = False) -> ps.Dataset:
    return made.with_options(Options(autotune=AutotuneOptions(enabled=enabled, start=start), cpu_budget=2))


@pytest.mark.usefixtures("once")
def test_the_log_says_what_was_changed_and_the_trace_has_it() -> None:
    with dataset().with_options(Options(cpu_budget=2)).iterator() as iterator:
        assert len(list(iterator)) == 100
        log = [entry for entry in iterator.tuning_log() if entry.knob == "parallelism"]
        assert [(e.stage, e.before, e.after, e.why, e.predicted) for e in log] == [("2:batch", 2, 7, "told", 3.0)]
        assert log[0].at_s > 0
        assert iterator.trace().tuning == iterator.tuning_log()
        assert iterator.stats().stages[0].workers == 7


def test_what_a_decision_came_to_is_filled_in_at_a_later_look(once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_REALISED_S", 0.0)
    with dataset().iterator() as iterator:
        list(iterator)
        entry = next(entry for entry in iterator.tuning_log() if entry.knob == "parallelism")
        assert entry.realised is not None  # of a moment, in which none may have come


@pytest.mark.usefixtures("once")
def test_an_epoch_starts_with_what_the_one_before_found() -> None:
    made = dataset().with_options(Options(cpu_budget=2))
    list(made)
    with made.iterator() as iterator:
        assert ps.freeze(iterator).stages[0].parallelism == 7
        next(iterator)
        assert iterator._run is not None
        assert (iterator._run.more_threads, iterator._run.scheduler.cores) == (5, 2)


@pytest.mark.usefixtures("once")
def test_what_an_epoch_found_does_not_go_before_what_is_said() -> None:
    made = dataset()
    list(made)
    said = made.with_options(Options(autotune=AutotuneOptions(enabled=False), cpu_budget=2))
    with PipelineIterator(said._node, 1, kept=made._kept) as iterator:
        assert ps.freeze(iterator).stages[0].parallelism == 2
    serial = ps.Dataset.range(400).map(opaque, num_parallel_calls=3).batch(4)
    with PipelineIterator(serial._node, 1, kept=made._kept) as iterator:
        assert iterator._tuning.settings()[2, "batch"].parallelism == 3


@pytest.mark.usefixtures("once")
def test_what_may_not_be_tuned_stays_and_nothing_is_logged() -> None:
    before = Once.asked
    for options in (Options(autotune=AutotuneOptions(enabled=False)), Options(executor="inline")):
        with dataset().with_options(options).iterator() as iterator:
            list(iterator)
            assert not [entry for entry in iterator.tuning_log() if entry.knob == "parallelism"]
    assert Once.asked == before


def test_a_tuning_is_frozen_of_an_iterator_and_travels_as_text() -> None:
    with dataset().with_options(Options(cpu_budget=2)).iterator() as iterator:
        frozen = ps.freeze(iterator)
    assert frozen.pipeline == ("0:range", "1:map", "2:batch")
    assert frozen.stages == (StageTuning(stage="2:batch", parallelism=2, prefetch=2, read_ahead=64),)
    assert FrozenTuning.from_json(json.dumps(json.loads(frozen.to_json()))) == frozen


def test_a_frozen_tuning_is_where_the_next_run_starts() -> None:
    made = dataset()
    with started(made, worst(made)).iterator() as iterator:
        assert len(list(iterator)) == 100
        stage = ps.freeze(iterator).stages[0]
        assert (stage.parallelism, stage.prefetch, stage.block_size, stage.read_ahead) == (1, 1, 1, 0)


def test_it_leaves_alone_what_was_said_and_the_budget_of_cores() -> None:
    made = ps.Dataset.range(50).map(opaque, num_parallel_calls=3).prefetch(5)
    start = FrozenTuning(stages=(StageTuning(stage="1:map", parallelism=1, prefetch=1),))
    with started(made, start).iterator() as iterator:
        next(iterator)
        assert iterator._run is not None
        assert iterator._run.scheduler.root.setting.parallelism == 3
    made, start = dataset(), FrozenTuning(stages=(StageTuning(stage="2:batch", parallelism=50),))
    with started(made, start).iterator() as iterator:
        assert ps.freeze(iterator).stages[0].parallelism == 2


def test_the_log_alone_can_be_frozen() -> None:
    def entry(knob: str, after: int, stage: str = "2:batch") -> TuningEntry:
        return TuningEntry(at_s=0.0, knob=knob, stage=stage, before=1, after=after, why="")

    frozen = ps.freeze([entry("parallelism", 4), entry("prefetch", 2), entry("parallelism", 8), entry("executor", 1)])
    assert frozen.stages == (StageTuning(stage="2:batch", parallelism=8, prefetch=2, waits=True),)
    with started(dataset(), frozen).iterator() as iterator:
        assert ps.freeze(iterator).stages[0].parallelism == 8


def test_a_tuning_of_another_pipeline_is_refused() -> None:
    other = ps.Dataset.range(40).map(opaque).shuffle(4).batch(4)
    with pytest.raises(InvalidArgumentError, match=r"start was frozen of another pipeline") as caught:
        started(other, worst(dataset())).iterator()
    assert caught.value.got == "0:range, 1:map, 2:batch"
    assert caught.value.expected == "0:range, 1:map, 2:shuffle, 3:batch"
    with pytest.raises(InvalidArgumentError, match="another pipeline"):
        started(other, FrozenTuning(stages=(StageTuning(stage="9:map", parallelism=2),))).iterator()


def test_a_tuning_belongs_to_a_pipeline_whatever_its_functions_and_sizes() -> None:
    start = worst(dataset())
    with started(ps.Dataset.range(8).map(abs).batch(2).prefetch(1), start).iterator() as iterator:
        assert len(list(iterator)) == 4


@pytest.mark.parametrize(
    "text", ["", "[]", '{"stages": 3, "pipeline": []}', '{"stages": [{"stage": "1:map", "x": 1}]}']
)
def test_text_that_is_no_tuning_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="not a tuning"):
        FrozenTuning.from_json(text)


@pytest.mark.parametrize("knobs", [{"parallelism": 0}, {"prefetch": True}, {"block_size": "x"}, {"read_ahead": -1}])
def test_values_that_no_knob_takes_are_refused(knobs: dict[str, int]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"StageTuning: {next(iter(knobs))}"):
        StageTuning(stage="1:map", **knobs)  # type: ignore[arg-type]  # likewise


@pytest.mark.parametrize("tuned", [None, 3, ["x"]])
def test_only_iterators_and_logs_are_frozen(tuned: object) -> None:
    with pytest.raises(InvalidArgumentError, match="freeze"):
        ps.freeze(tuned)  # type: ignore[arg-type]  # what is wrong is the point


def test_start_takes_a_frozen_tuning_only() -> None:
    with pytest.raises(InvalidArgumentError, match="AutotuneOptions: start"):
        AutotuneOptions(start={})  # type: ignore[arg-type]  # likewise


def test_a_saved_pipeline_keeps_its_start() -> None:
    made = dataset()
    saved = ps.Dataset.from_bytes(started(made, worst(made)).to_bytes(), allow_code=True)
    assert len(list(saved)) == 100


def test_an_iterator_that_is_tuned_is_collected_when_it_is_left() -> None:
    before = threading.active_count()
    iterator = iter(dataset())
    next(iterator)
    del iterator
    assert threading.active_count() <= before
