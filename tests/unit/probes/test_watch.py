from __future__ import annotations

import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError
from penstock.probes.recording import Recording
from penstock.probes.trainer import EventBrackets, blocker, cuda_brackets, is_synchronous, trainer
from penstock.probes.watch import Watch


class Time:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


class Loader:
    """Batches that take `seconds` each of `time` to make."""

    def __init__(self, time: Time, batches: list[Any], seconds: float) -> None:
        self.time, self.batches, self.seconds = time, batches, seconds
        self.batch_size = 4

    def __iter__(self) -> Iterator[Any]:
        for batch in self.batches:
            self.time.at += self.seconds
            yield batch

    def __len__(self) -> int:
        return len(self.batches)


def watched(batches: list[Any], seconds: float = 0.25) -> tuple[Watch, Time]:
    time = Time()
    recording = Recording("iterable", "Loader", now=time)
    recording.framework = "tensorflow"
    recording.method = None
    return Watch(Loader(time, batches, seconds), recording), time


def batches(*rows: int) -> list[Any]:
    return [(np.zeros((n, 2), np.float32), np.zeros(n, np.int64)) for n in rows]


def test_watch_gives_what_the_loader_gives_each_time() -> None:
    made = batches(4, 4, 3)
    loader = ps.watch(made)
    for _ in range(2):
        assert [id(batch) for batch in loader] == [id(batch) for batch in made]


def test_watch_forwards_length_and_attributes() -> None:
    loader, _ = watched(batches(4, 4))
    assert (len(loader), loader.batch_size) == (2, 4)
    with pytest.raises(AttributeError, match="nothing"):
        _ = loader.nothing


def test_watch_refuses_what_is_no_loader() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ps.watch(len)  # type: ignore[arg-type]
    assert caught.value.got == "builtin_function_or_method"


def test_an_error_of_the_loader_passes_through() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    passing = iter(ps.watch(failing()))
    assert next(passing) == 1
    with pytest.raises(OSError, match="gone"):
        next(passing)


def test_trace_tells_waits_and_the_trainers_own_time() -> None:
    loader, time = watched(batches(4, 4, 4, 2))
    for _ in loader:
        time.at += 0.75
    consumer = loader.trace().consumer
    assert (consumer.steps, consumer.rows, consumer.requests) == (4, 14, 4)
    assert (consumer.wait_s, consumer.between_s, consumer.first_s) == (1.0, 3.0, 0.25)
    assert consumer.starved_s == 0.75  # the first request is no starvation
    assert [one.at_s for one in loader.trace().intervals] == [0.0, 1.0, 2.0, 3.0]


def test_time_between_passes_is_not_the_trainers() -> None:
    loader, time = watched(batches(4, 4))
    for _ in range(2):
        for _ in loader:
            time.at += 0.5
        time.at += 1000
    assert loader.trace().consumer.between_s == 2.0


def test_a_pass_that_is_left_early_counts_what_it_saw() -> None:
    loader, time = watched(batches(4, 4, 4))
    for _ in loader:
        time.at += 0.5
        break
    list(loader)
    assert loader.trace().consumer.steps == 4


def test_done_makes_the_wait_starvation() -> None:
    loader, time = watched(batches(4, 4, 4), seconds=0.25)
    loader._penstock_recording.framework = "jax"
    release = threading.Event()

    class Loss:
        def block_until_ready(self) -> None:
            assert release.wait(10)

    passing = iter(loader)
    next(passing)
    loss = Loss()
    assert loader.done({"loss": loss, "step": 1})["loss"] is loss
    time.at += 0.2  # done 0.2 s after the dispatch, while the trainer already waits
    release.set()
    loader._penstock_done.join(10)
    time.at -= 0.2
    next(passing)
    trace = loader.trace()
    assert trace.consumer.method == "device done"
    assert trace.consumer.wait_s == pytest.approx(0.5)
    assert trace.consumer.starved_s == pytest.approx(0.05)


def test_done_of_what_is_done_already_is_now() -> None:
    loader, time = watched(batches(4, 4))
    for _ in loader:
        time.at += 0.5
        assert loader.done(1.5) == 1.5
    assert loader.trace().consumer.method == "device done"


def test_without_done_an_asynchronous_trainer_gets_an_upper_bound() -> None:
    loader, _ = watched(batches(4, 4))
    loader._penstock_recording.framework = "jax"
    list(loader)
    trace = loader.trace()
    assert trace.consumer.method == "host wait"
    assert any("upper bound" in note for note in trace.notes)


def test_a_new_shape_is_a_retrace_that_names_the_leaf() -> None:
    loader, _ = watched([*batches(4, 4), {"x": np.zeros((4, 3))}, *batches(4, 3)])
    list(loader)
    found = [(one.step, one.leaf, one.before, one.after) for one in loader.trace().retraces]
    assert found == [
        (2, "['x']", "[0] float32[4, 2]", "float64[4, 3]"),
        (4, "[0]", "['x'] float64[4, 3]", "float32[3, 2]"),
    ]


@pytest.mark.parametrize("batch", [7, "text", [1, "a"], ((np.zeros(3), [1]), {"a": 2.0}), object(), None, ()])
def test_any_batch_can_be_watched(batch: Any) -> None:
    assert list(ps.watch([batch, batch])) == [batch, batch]


def test_rows_are_unknown_where_no_leaf_has_any() -> None:
    loader = ps.watch([1, 2])
    list(loader)
    assert loader.trace().consumer.rows is None


def test_a_long_tape_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.probes.recording.LONGEST", 10)
    monkeypatch.setattr("penstock.probes.tape._KEPT", 4)
    loader, time = watched(batches(*[4] * 37))
    for _ in loader:
        time.at += 0.5
        loader.done(None)
    trace = loader.trace()
    assert (trace.consumer.steps, trace.consumer.wait_s, trace.consumer.between_s) == (37, 37 * 0.25, 18.5)
    assert trace.consumer.starved_s == 9.0
    assert len(trace.intervals) < 8


class Event:
    """A mark in a queue that a test moves on."""

    def __init__(self, reached: list[float]) -> None:
        self.reached = reached
        self.at = 0.0

    def record(self) -> None:
        self.at = self.reached[0]

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return 1000 * (other.at - self.at)


def test_events_on_a_stream_tell_starvation() -> None:
    queue, noted = [0.0], {}
    brackets = EventBrackets(lambda: Event(queue), noted.__setitem__)
    for starved in (0.5, 0.0, 0.125):
        brackets.enter()
        queue[0] += starved
        brackets.leave()
        queue[0] += 1.0
    assert noted == {0: 0.5, 1: 0.0, 2: 0.125}


def test_events_are_taken_where_cuda_is_open() -> None:
    queue = [0.0]
    cuda = types.SimpleNamespace(is_initialized=lambda: True, Event=lambda enable_timing: Event(queue))
    assert cuda_brackets(lambda position, seconds: None, {"torch": types.SimpleNamespace(cuda=cuda)}) is not None  # type: ignore[dict-item]
    cuda.is_initialized = lambda: False
    assert cuda_brackets(lambda position, seconds: None, {"torch": types.SimpleNamespace(cuda=cuda)}) is None  # type: ignore[dict-item]


def module(**names: Any) -> Any:
    return types.SimpleNamespace(**names)


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ({}, ""),
        ({"torch": module()}, "torch"),
        ({"tensorflow": module(), "jax._src.xla_bridge": module(backends_are_initialized=lambda: False)}, "tensorflow"),
        ({"tensorflow": module(), "jax._src.xla_bridge": module(backends_are_initialized=lambda: True)}, "jax"),
        (
            {
                "keras.src.backend.config": module(backend=lambda: "torch"),
                "keras.src.trainers.trainer": module(),
                "tensorflow": module(),
            },
            "torch",
        ),
    ],
)
def test_trainer_is_told_by_what_was_imported(modules: dict[str, Any], expected: str) -> None:
    assert trainer(modules) == expected


def test_who_waits_for_its_device() -> None:
    cpu = module(config=module(list_physical_devices=lambda kind: []))
    gpu = module(config=module(list_physical_devices=lambda kind: ["GPU:0"]))
    cuda = module(cuda=module(is_initialized=lambda: True))
    assert is_synchronous("", {})
    assert is_synchronous("tensorflow", {"tensorflow": cpu})
    assert not is_synchronous("tensorflow", {"tensorflow": gpu})
    assert not is_synchronous("torch", {"torch": cuda})
    assert not is_synchronous("jax", {})


def test_a_loss_on_cuda_is_waited_for_by_an_event() -> None:
    calls: list[str] = []
    event = module(record=lambda: calls.append("record"), synchronize=lambda: calls.append("synchronize"))
    wait = blocker([module(is_cuda=True)], {"torch": module(cuda=module(Event=lambda: event))})
    assert wait is not None
    wait()
    assert calls == ["record", "synchronize"]
    assert blocker(1.0, {}) is None
