"""What a monitor says of loops whose truth is known: a fake device, a clock of ours, no thread, no sleep."""

from __future__ import annotations

import json
import re
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.adapters.delivery import Delivery
from penstock.dataset import DatasetFeed
from penstock.errors import InvalidArgumentError, WriteError
from penstock.train import Alarm, Monitor
from penstock.train.monitor.run import QUIET_S, Run
from tests.unit.train.monitor.device import Loader, Time, looped, monitor, recording_of


def planted(share: float, compute_s: float = 0.028) -> float:
    """Seconds a batch must take so that an asynchronous device is idle for `share` of the time."""
    return compute_s / (1 - share) if share else compute_s / 2


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
def test_starvation_is_the_planted_idle_time_within_three_points(share: float) -> None:
    told, true = looped(planted(share), 0.028)
    assert true == pytest.approx(share, abs=0.03)
    assert told.epochs[0].starved_share == pytest.approx(true, abs=0.03)
    verdict = told.diagnose().verdict
    assert verdict.waiting_share == pytest.approx(true, abs=0.03)
    assert (told.trace().consumer.method, verdict.is_upper_bound) == ("device done", False)


def test_without_done_it_says_that_host_wait_is_an_upper_bound() -> None:
    told, true = looped(0.014, 0.028, tells_done=False)
    assert true < 0.01
    assert told.epochs[0].starved_share > 0.3
    assert told.trace().consumer.method == "host wait"
    assert "the device starved at most as long" in told.summary()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
def test_a_trainer_that_waits_for_its_device_starves_while_it_waits(share: float) -> None:
    time, work_s = Time(), 0.028
    told = monitor(time)
    for _ in told.watch(Loader(time, 100, work_s * share / (1 - share))):
        time.at += work_s
    told.close()
    assert told.epochs[0].starved_share == pytest.approx(share, abs=0.01)
    assert told.trace().consumer.method == "synchronous"


def test_an_epoch_adds_up_its_steps() -> None:
    time = Time()
    told = monitor(time)
    for _ in range(2):
        for _ in told.watch(Loader(time, 5, 0.25, lambda number: 3 if number == 4 else 8)):
            time.at += 0.75
        time.at += 1000.0  # validation
    told.close()
    first, second = told.epochs
    assert (first.number, first.steps, first.rows, first.seconds) == (0, 5, 35, 5.0)
    assert (second.number, second.steps, second.rows, second.seconds, second.wait_s) == (1, 5, 35, 5.0, 1.25)
    assert (first.first_s, second.first_s, first.starved_s, second.starved_s) == (0.25, 0.0, 1.0, 1.25)
    assert (second.step_s, second.rate_elements_per_s, second.starved_share) == (1.0, 7.0, 0.25)
    assert (first.new_shapes, second.new_shapes) == (1, 0)
    (retrace,) = told.trace().retraces
    assert (retrace.step, retrace.before, retrace.after) == (4, "float32[8, 2]", "float32[3, 2]")


def test_step_takes_what_lies_between_for_input() -> None:
    time = Time()
    told = monitor(time)
    with told.epoch():
        for _ in range(4):
            time.at += 0.25
            with told.step(np.zeros((8, 2))):
                time.at += 0.75
    time.at += 100.0
    with told.epoch():
        for _ in range(4):
            time.at += 0.25
            with told.step(np.zeros((8, 2))):
                time.at += 0.75
    told.close()
    first, second = told.epochs
    assert (first.steps, first.rows, first.seconds, first.wait_s, first.starved_s) == (4, 32, 4.0, 1.0, 0.75)
    assert (second.seconds, second.starved_s) == (4.0, 1.0)


def test_step_within_watch_counts_no_request_twice() -> None:
    time = Time()
    told = monitor(time)
    for batch in told.watch(Loader(time, 5, 0.25)):
        with told.step(batch):
            time.at += 0.75
    told.close()
    assert told.epochs[0].steps == 5
    assert told.epochs[0].seconds == 5.0


def test_a_pass_that_is_left_early_is_an_epoch() -> None:
    time = Time()
    told = monitor(time)
    for number, _ in enumerate(told.watch(Loader(time, 5, 0.25))):
        time.at += 0.75
        if number == 2:
            break
    told.close()
    assert [one.steps for one in told.epochs] == [3]


class Moved:
    """Moves nothing, two batches ahead."""

    ahead = 2

    def send(self, batch: Any) -> Any:
        return batch

    receive = send

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("is_adapted", [False, True])
def test_a_dataset_of_penstock_tells_its_own_steps(is_adapted: bool) -> None:
    told = Monitor(sample=False, tell=None)
    dataset = ps.Dataset.range(64).map(lambda n: n + 1, num_parallel_calls=1).batch(8)
    loader: Any = Delivery(DatasetFeed(dataset), Moved()) if is_adapted else dataset
    for _ in range(2):
        for _ in told.watch(loader):
            pass
    told.close()
    trace = told.trace()
    assert trace.source == "penstock"
    assert {step.verb for step in trace.steps} >= {"map", "batch"}
    assert sum(step.elements for step in trace.steps if step.verb == "map") == 128
    assert (trace.consumer.steps, trace.consumer.rows) == (16, 128)
    assert told.diagnose().line


def test_results_that_are_not_done_yet_do_not_hold_the_loop_up() -> None:
    time = Time()
    told = monitor(time)
    release = threading.Event()

    class Loss:
        def block_until_ready(self) -> None:
            assert release.wait(10)

    for _ in told.watch(Loader(time, 3, 0.25)):
        recording_of(told).framework = "jax"
        told.done({"loss": Loss()})
    assert told.epochs == ()  # not added up before the device is through
    release.set()
    told.close()
    assert told.epochs[0].steps == 3


def test_a_second_loop_begins_anew_after_close() -> None:
    time = Time()
    told = monitor(time)
    for steps in (3, 5):
        for _ in told.watch(Loader(time, steps, 0.25)):
            time.at += 0.75
        told.close()
        assert [one.steps for one in told.epochs] == [steps]


def test_a_long_run_keeps_little() -> None:
    time = Time()
    told = monitor(time)
    for _ in told.watch(Loader(time, 5_000, 0.25)):
        time.at += 0.75
        assert len(recording_of(told).tape.asked) < 100
    told.close()
    assert (told.epochs[0].steps, told.epochs[0].wait_s) == (5_000, 1_250.0)
    assert len(told.trace().intervals) <= 4_000


def test_alarms_are_told_once_while_it_runs() -> None:
    time = Time()
    heard: list[tuple[float, Alarm]] = []
    told = monitor(time, tell=lambda alarm: heard.append((time.at - 100.0, alarm)))
    for _ in told.watch(Loader(time, 400, 0.06)):
        time.at += 0.04
    told.close()
    assert [alarm.kind for _, alarm in heard] == ["input"]
    assert heard[0][0] < 12
    assert re.match(r"(59|60) % of each step is waiting for input", str(heard[0][1]))
    assert told.alarms == (heard[0][1],)


def test_a_healthy_run_has_no_alarm() -> None:
    time = Time()
    heard: list[Alarm] = []
    told = monitor(time, tell=heard.append)
    for _ in told.watch(Loader(time, 400, 0.01)):
        time.at += 0.09
    told.close()
    assert heard == []


def test_an_alarm_is_a_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    time = Time()
    told = Monitor(sample=False, clock=time.clock)
    for _ in told.watch(Loader(time, 20, 0.9)):
        time.at += 0.1
    told.close()
    written = capsys.readouterr().err
    assert written.count("penstock: ") == 1
    assert "90 % of each step is waiting for input" in written


def test_nothing_is_left_of_a_loop_that_failed() -> None:
    time = Time()
    told = Monitor(tell=None)

    def train() -> None:
        for _ in told.watch(Loader(time, 5, 0.0)):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train()
    assert told._run is not None
    sampler = told._run._sampler
    assert sampler is not None
    assert sampler._thread is not None
    sampler._thread.join(10)
    assert not sampler.is_running


def test_it_may_be_asked_before_anything_was_seen() -> None:
    told = Monitor(sample=False)
    assert str(told) == "Monitor: nothing was seen yet"
    with pytest.raises(InvalidArgumentError, match="nothing was seen yet"):
        told.trace()
    told.close()


def test_what_is_no_loader_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="not a loader"):
        Monitor(sample=False).watch(len)  # type: ignore[arg-type] # that is the point


def test_it_is_written_as_json_page_and_events(tmp_path: Path) -> None:
    time = Time()
    told = monitor(time, tensorboard=tmp_path / "events")
    for _ in range(2):
        for _ in told.watch(Loader(time, 50, 0.5)):
            time.at += 0.5
    told.close()
    document = json.loads(told.to_json(tmp_path / "run.json").read_text())
    assert (document["format"], document["method"]) == ("penstock-monitor", "synchronous")
    assert [one["starved_share"] for one in document["epochs"]] == [pytest.approx(0.495, abs=0.01), 0.5]
    assert document["alarms"][0]["kind"] == "input"
    page = told.report(tmp_path / "run.html").read_text()
    assert "<h2>Training</h2>" in page
    assert "Starved of input" in page
    assert "Seconds of a step" in page
    with pytest.raises(WriteError):
        told.report(tmp_path / "missing" / "run.html")


def test_events_are_read_by_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", types.ModuleType("notf"))  # it reads without TensorFlow
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    time = Time()
    told = monitor(time, tensorboard=tmp_path)
    for _ in range(2):
        for _ in told.watch(Loader(time, 51, 0.5)):
            time.at += 0.5
        told.close()
    found: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(tmp_path.iterdir()):
        for event in reader.LegacyEventFileLoader(str(path)).Load():
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    assert found["step/seconds"][:3] == [(0, 1.0), (1, 1.0), (2, 1.0)]
    assert [step for step, _ in found["step/seconds"]] == list(range(102))  # a second run goes on
    assert found["epoch/starved_share"] == [(0, pytest.approx(0.495, abs=0.001)), (1, pytest.approx(0.495, abs=0.001))]
    assert "alarm/input" in found


def test_a_disk_that_is_full_ends_the_file_not_the_training(tmp_path: Path) -> None:
    time = Time()
    told = monitor(time, tensorboard=tmp_path)

    class Full:
        def write(self, data: bytes = b"") -> None:
            raise OSError(28, "No space left on device")

        flush = close = write

    for number, _ in enumerate(told.watch(Loader(time, 50, 0.5))):
        if number == 2:
            assert told._stream is not None
            told._stream._file = Full()  # type: ignore[assignment] # a fake
    told.close()
    assert any("end early: No space left" in note for note in told.trace().notes)


def test_a_folder_that_cannot_be_made_is_said_when_the_run_begins(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told = Monitor(sample=False, tensorboard=tmp_path / "file" / "runs")
    with pytest.raises(WriteError, match="event file cannot be made"):
        next(iter(told.watch([1])))


def test_absent_tensorboard_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.train.monitor.monitor.find_spec", lambda name: None)
    told = Monitor(sample=False, tensorboard=tmp_path)
    list(told.watch([1, 2, 3]))
    told.close()
    assert str(told).count("TensorBoard is not installed") == 1


def test_an_absent_accelerator_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    told = Monitor(tell=None)
    list(told.watch([1, 2, 3, 4, 5]))
    told.close()
    assert str(told).count("nvidia-ml-py is not installed") == 1


def test_it_imports_no_keras_and_is_a_callback_where_keras_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Callback:
        def __init__(self) -> None:
            self.params = self._model = None

        def set_params(self, params: Any) -> None:
            self.params = params

    keras = types.SimpleNamespace(
        callbacks=types.SimpleNamespace(Callback=Callback), config=types.SimpleNamespace(backend=lambda: "jax")
    )
    monkeypatch.setitem(sys.modules, "keras", None)
    before = Monitor(sample=False)
    assert type(before) is Monitor
    with pytest.raises(AttributeError):
        before.set_params({})
    monkeypatch.setitem(sys.modules, "keras", keras)
    after = Monitor(sample=False)
    assert isinstance(after, Callback)
    assert isinstance(after, Monitor)
    assert after.async_safe
    before.set_params({"epochs": 1})  # made before Keras was imported
    assert isinstance(before, Callback)
    assert before.params == {"epochs": 1}


def test_the_machine_is_read_while_requests_come_and_again_when_they_go_on() -> None:
    time = Time()
    run = Run(clock=time.clock, sample=False)
    assert run._is_heard()
    time.at += QUIET_S
    assert not run._is_heard()
    run.look(time())
    assert run._is_heard()


def test_a_pass_that_is_dropped_within_its_epoch_was_left() -> None:
    run = Run(clock=Time().clock, sample=False)
    run.begin_epoch(0)
    heard = run.passing(iter(range(5)), object())
    next(heard)
    run.end_epoch()
    del heard
    assert run._is_heard()  # its epoch had ended: Keras had all the steps it wanted
    run.begin_epoch(1)
    heard = run.passing(iter(range(5)), object())
    next(heard)
    del heard
    assert not run._is_heard()
