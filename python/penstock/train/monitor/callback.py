"""The monitor as Keras' own kind of callback, on its three backends; Keras is imported by then, or this is not.

On JAX `on_train_batch_end` hears when each step is done, beside the training loop (`async_safe`). Elsewhere it is not
there: where Keras can leave out fetching the logs of each step, it does. TensorFlow's loop waits for its device, and so
does PyTorch's on the CPU; on CUDA events around each request tell how long the device starved.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from penstock.adapters.passes import LISTENERS
from penstock.train.monitor.hearing import OWN_ADAPTER, FitListener, hear_epochs_of
from penstock.train.monitor.loss_scale import keras_loss_scale

_ITERATORS = {
    "jax": ("keras.src.backend.jax.trainer", "JAXEpochIterator"),
    "torch": ("keras.src.backend.torch.trainer", "TorchEpochIterator"),
}


KERAS_ASKS_FIRST = frozenset({"async_safe", "set_params", "set_model", "on_batch_end", "on_train_batch_end"})
"""What a `CallbackList` looks up in each of its callbacks before anything else."""


def keras_type(kind: type[Any], modules: dict[str, Any]) -> type[Any] | None:
    """`kind`, a monitor, as a callback for the backend of Keras; None where Keras was not imported."""
    keras = modules.get("keras")
    base = getattr(getattr(keras, "callbacks", None), "Callback", None)
    if keras is None or base is None:
        return None
    backend = keras.config.backend()
    body: list[type[Any]] = [JaxHooks] if backend == "jax" else [GraphHooks] if backend == "tensorflow" else []
    return type(kind.__name__, (*body, Hooks, kind, base), {"__doc__": kind.__doc__, "__module__": kind.__module__})


class Hooks:
    """What Keras calls on every backend."""

    async_safe = True
    _model: Any
    _base = 0  # number of the epoch's first step

    def on_train_begin(self: Any, logs: Any = None) -> None:
        frame = fit_frame(sys._getframe(1))
        run = self._begin(_backend(), frame, keras_loss_scale(self._model))
        iterator, x = frame.f_locals.get("epoch_iterator"), frame.f_locals.get("x")
        backend = _backend()
        if backend in _ITERATORS:
            module, name = _ITERATORS[backend]
            kind = getattr(sys.modules.get(module), name, None)
            if hasattr(kind, "_get_iterator"):
                hear_epochs_of(kind)
            else:
                run.recording.say("this version of Keras asks for its data in a way that is not known: not heard")
        elif type(adapter := getattr(iterator, "data_adapter", None)).__name__ != OWN_ADAPTER:
            run.watch_graph(x, getattr(adapter, "batch_size", None))
        else:
            run.recording.method = "synchronous" if fetches_logs() else None
        _listen(run)

    def on_epoch_begin(self: Any, epoch: int, logs: Any = None) -> None:
        run = self._run
        run.begin_epoch(epoch)
        self._base = self._before = run.steps
        self._done_at = run.clock.now()
        self._ahead = _ahead()
        if run.graph is not None:
            run.graph.begin_pass()

    def on_test_begin(self: Any, logs: Any = None) -> None:
        """Validation within `fit` is no part of its steps."""
        if self._run is not None and not self._run.is_over:
            self._run.end_steps(self._run.clock.now())
            if self._run.graph is not None:
                self._run.graph.end_pass()
            _unlisten(self._run)

    def on_test_end(self: Any, logs: Any = None) -> None:
        if self._run is not None and not self._run.is_over and self._run.graph is None:
            _listen(self._run)

    def on_epoch_end(self: Any, epoch: int, logs: Any = None) -> None:
        if self._run.graph is not None:
            self._run.graph.end_pass()
        self._run.end_epoch()

    def on_train_end(self: Any, logs: Any = None) -> None:
        _unlisten(self._run)
        self._run.finish()


class JaxHooks:
    """On JAX: when each step is done, told from a thread of Keras' own, now and then out of order."""

    _base: int

    def on_train_batch_end(self: Any, batch: int, logs: Any = None) -> None:
        run, ahead = self._run, self._ahead
        at = run.clock.now()
        tape, step = run.recording.tape, self._base + batch + ahead
        for earlier in range(self._before + ahead, step):  # of one execution: their batches were asked for together
            tape.note_done(earlier, self._done_at)
        tape.note_done(step, at)
        self._before, self._done_at = max(self._before, step - ahead + 1), at


class GraphHooks:
    """On TensorFlow: steps whose requests are made within the graph."""

    def on_train_batch_begin(self: Any, batch: int, logs: Any = None) -> None:
        run = self._run
        if run.graph is not None:
            run.graph.begin()
            if run.clock.now() >= run.look_at:
                run.look(run.clock.now())


def fit_frame(frame: FrameType) -> FrameType:
    """The frame of Keras' `fit` at or above `frame`; where there is none, the caller's."""
    above: FrameType | None = frame
    while above is not None:
        if above.f_code.co_name == "fit":
            return above
        above = above.f_back
    return frame


def _backend() -> str:
    return str(sys.modules["keras"].config.backend())


def _ahead() -> int:
    """Batches that Keras asks for before it starts the step: one where it trains on JAX and that copies to a device."""
    return int(_backend() == "jax" and sys.modules["jax"].default_backend() != "cpu")


def fetches_logs() -> bool:
    """Whether Keras fetches the logs of each step on TensorFlow, and so waits for its device whichever that is."""
    kind: Any = sys.modules["keras"].callbacks.CallbackList
    end = getattr(kind, "_on_train_batch_end", None)
    return "pythonify_logs" in getattr(getattr(end, "__code__", None), "co_names", ())


def _listen(run: Any) -> None:
    _unlisten(run)
    LISTENERS.set((*LISTENERS.get(), FitListener(run)))


def _unlisten(run: Any) -> None:
    """Of a run that is over; and of those that errors left, which can no longer be told."""
    LISTENERS.set(
        tuple(
            one
            for one in LISTENERS.get()
            if not isinstance(one, FitListener) or (one.run is not run and one.run.is_going)
        )
    )
