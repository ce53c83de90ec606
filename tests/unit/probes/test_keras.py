"""Keras' trainers and TensorFlow's profiler, by fakes of the parts that the probes take hold of."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from penstock.probes.book import Book
from penstock.probes.keras_fit import patch_jax, patch_tensorflow
from penstock.probes.tf_profile import Profiled, Windows
from tests.unit.probes.test_watch import Time, batches


class FakeKeras:
    """As much of Keras as `fit` needs: callbacks that are called around each step, and an adapter of the data."""

    def __init__(self, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
        callbacks = types.ModuleType("keras.callbacks")
        callbacks.Callback = type("Callback", (), {})  # type: ignore[attr-defined] # a module made here
        monkeypatch.setitem(sys.modules, "keras", types.ModuleType("keras"))
        monkeypatch.setitem(sys.modules, "keras.callbacks", callbacks)
        self.time = time
        fake = self

        class PyDatasetAdapter:
            def __init__(self, x: Any) -> None:
                self.py_dataset = x

        class EpochIterator:
            def __init__(self, x: Any) -> None:
                self.data_adapter = PyDatasetAdapter(x)

            def _get_iterator(self) -> Iterator[Any]:
                return iter(self.data_adapter.py_dataset)

        class Trainer:
            def fit(self, x: Any = None, y: Any = None, *, epochs: int = 1, callbacks: Any = None) -> list[Any]:
                called = callbacks or []
                epoch_iterator, seen = EpochIterator(x), []
                for epoch in range(epochs):
                    for one in called:
                        getattr(one, "on_epoch_begin", lambda epoch: None)(epoch)
                    for number, batch in enumerate(epoch_iterator._get_iterator()):
                        for one in called:
                            getattr(one, "on_train_batch_begin", lambda number: None)(number)
                        seen.append(batch)
                        fake.time.at += 0.5
                        for one in called:
                            getattr(one, "on_train_batch_end", lambda number: None)(number)
                    for one in called:
                        getattr(one, "on_epoch_end", lambda epoch: None)(epoch)
                for one in called:
                    getattr(one, "on_train_end", lambda: None)()
                return seen

        self.jax = SimpleNamespace(
            JAXEpochIterator=EpochIterator, JAXTrainer=Trainer, jax=SimpleNamespace(default_backend=lambda: "cpu")
        )
        self.tensorflow = SimpleNamespace(TensorFlowTrainer=Trainer)


class Sequence:
    """A PyDataset whose batches take 0.25 s each."""

    workers, use_multiprocessing, max_queue_size = 2, False, 10

    def __init__(self, time: Time, given: list[Any]) -> None:
        self.time, self.given = time, given

    def __getitem__(self, number: int) -> Any:
        self.time.at += 0.25
        return self.given[number]


def test_fit_on_jax_tells_requests_settings_and_when_steps_were_done(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    keras, book, given = FakeKeras(time, monkeypatch), Book(now=time), batches(4, 4, 4)
    patch_jax(keras.jax, book)
    seen = keras.jax.JAXTrainer().fit(Sequence(time, given), epochs=2)
    assert [id(one) for one in seen] == [id(one) for one in given] * 2  # results are as without us
    trace = book.entries()[0].trace
    consumer = trace.consumer
    assert (consumer.steps, consumer.rows, consumer.wait_s, consumer.method) == (6, 24, 1.5, "device done")
    assert consumer.starved_s == 1.25  # each was done when the next was asked for
    assert trace.settings == {"workers": 2, "use_multiprocessing": False, "max_queue_size": 10}
    assert trace.loader.startswith("Sequence in fit at tests/unit/probes/test_keras.py:")
    assert (trace.stages[0].executor, trace.stages[0].workers) == ("threads", 2)


def test_callbacks_of_the_users_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    keras, book = FakeKeras(time, monkeypatch), Book(now=time)
    patch_jax(keras.jax, book)
    ended: list[int] = []
    mine = SimpleNamespace(on_train_batch_end=ended.append)
    given = [mine]
    keras.jax.JAXTrainer().fit(Sequence(time, batches(4, 4)), callbacks=given)
    assert (ended, given) == ([0, 1], [mine])


def test_fit_on_tensorflow_tells_steps_and_the_profiles_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    keras, book = FakeKeras(time, monkeypatch), Book(now=time)
    closed: list[float] = []

    def stop() -> Any:
        closed.append(time.at)
        return space([("IteratorGetNextOp::DoCompute", 0.15)] * 4 + [("DecodeJpeg:DecodeJpeg", 0.1)] * 4)

    monkeypatch.setattr(
        "penstock.probes.tf_steps.windows", lambda now, failed: Windows(now, lambda: None, stop, failed)
    )
    patch_tensorflow(keras.tensorflow, book)
    keras.tensorflow.TensorFlowTrainer().fit(Sequence(time, batches(*[4] * 12)))
    assert len(closed) == 1
    trace = book.entries()[0].trace
    consumer = trace.consumer
    assert (consumer.steps, consumer.method) == (12, "profile")
    assert consumer.wait_s / (consumer.wait_s + consumer.between_s) == pytest.approx(0.6 / (4 * 0.75))


def test_fit_on_tensorflow_without_a_profile_knows_no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    keras, book = FakeKeras(time, monkeypatch), Book(now=time)

    def start() -> None:
        raise RuntimeError("another profiler is active")

    monkeypatch.setattr(
        "penstock.probes.tf_steps.windows", lambda now, failed: Windows(now, start, lambda: None, failed)
    )
    patch_tensorflow(keras.tensorflow, book)
    keras.tensorflow.TensorFlowTrainer().fit(Sequence(time, batches(*[4] * 12)))
    trace = book.entries()[0].trace
    assert (trace.consumer.steps, trace.consumer.starved_s, trace.consumer.between_s) == (12, None, 0.0)
    assert any("another profiler is active" in note for note in trace.notes)


def space(events: list[tuple[str, float]]) -> Any:
    """An XSpace of one thread with these events and seconds."""
    names = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in events))}
    line = SimpleNamespace(
        events=[SimpleNamespace(metadata_id=names[name], duration_ps=int(s * 1e12)) for name, s in events]
    )
    metadata = {number: SimpleNamespace(name=name) for name, number in names.items()}
    return SimpleNamespace(planes=[SimpleNamespace(lines=[line], event_metadata=metadata)])


def test_ops_of_a_profile_become_steps_of_the_functions_that_have_them() -> None:
    profiled = Profiled()
    profiled.add(
        space([("a/Decode:DecodeJpeg", 0.02)] * 9 + [("DecodeJpeg:DecodeJpeg", 0.2), ("ReadFile:ReadFile", 0.1)]),
        1.0,
        5,
    )
    functions = {
        "map of load at t.py:3": frozenset({"DecodeJpeg", "ReadFile"}),
        "map of other at t.py:9": frozenset({"Add"}),
    }
    step, decode, read = profiled.steps_of(functions, 10.0, "loader")
    assert (step.label, step.elements, step.busy_s) == ("map of load at t.py:3", 100, pytest.approx(4.8))
    assert step.storage_s == pytest.approx(1.0)
    assert step.element_s == pytest.approx((0.02, 0.02, 0.02, 0.2)) or step.element_s is not None
    assert (decode.verb, decode.part_of, decode.busy_s) == ("decode_image", "map 0", pytest.approx(3.8))
    assert read.verb == "ReadFile"
    assert profiled.waiting is None


def test_windows_open_and_close_by_steps_and_seconds() -> None:
    time, calls = Time(), []
    windows = Windows(time, lambda: calls.append("start"), lambda: calls.append("stop") or space([]), calls.append)  # type: ignore[func-returns-value]
    for _ in range(60):
        windows.step()
        time.at += 0.125
    assert calls == ["start", "stop", "start", "stop"]
    assert windows.profiled.steps == 8
    assert np.isclose(windows.profiled.seconds, 1.0)
