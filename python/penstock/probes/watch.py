"""`penstock.watch(loader)`: any loader, any trainer, one line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import InvalidArgumentError, user_location
from penstock.probes.done import DoneThread
from penstock.probes.recording import Pass, Recording
from penstock.probes.trainer import blocker, cuda_brackets
from penstock.telemetry.trace import Source, Trace

_JOIN_S = 2.0
_PACKAGES: dict[str, Source] = {"torch": "torch", "tensorflow": "tf.data", "grain": "grain", "keras": "keras"}


def watch(loader: Iterable[Any]) -> Watch:
    """The same loader, with what its trainer asks of it noted: `for batch in penstock.watch(loader): ...`.

    Its elements, their order, its length and its attributes are those of `loader`; it can be iterated as often.
    Afterwards `.trace()` tells what was seen, and `penstock.diagnose(watched.trace())` what it means.

        watched = penstock.watch(loader)
        for x, y in watched:
            loss = train_step(x, y)
            watched.done(loss)  # optional: exact numbers where the framework dispatches asynchronously

    Without `done`, the wait in `next()` is exact for TensorFlow and PyTorch on the CPU and, through events in the
    stream, for PyTorch on CUDA; for JAX it is an upper bound of what the device waited.
    Cost: 1 us a step.
    Raises: InvalidArgumentError: `loader` cannot be iterated.
    """
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        raise InvalidArgumentError(
            "watch: not a loader", got=type(loader).__name__, expected="something that a for loop can iterate",
            remedy="pass the loader itself, not the function that makes it",
        )  # fmt: skip
    return Watch(loader, Recording(source_of(loader), f"{type(loader).__name__} at {user_location()}"))


def source_of(loader: object) -> Source:
    """Whose loader it is, by the package that any of its classes comes from."""
    for kind in type(loader).__mro__:
        package = kind.__module__.partition(".")[0]
        if package == "penstock":
            return "penstock"
        if package in _PACKAGES:
            return _PACKAGES[package]
    return "iterable"


class Watch:
    """A loader and what was noted of it; see `penstock.watch`."""

    def __init__(self, loader: Iterable[Any], recording: Recording) -> None:
        self._penstock_loader = loader
        self._penstock_recording = recording
        self._penstock_done = DoneThread(recording.now)

    def __iter__(self) -> Pass:
        recording = self._penstock_recording
        if recording.brackets is None:
            recording.brackets = cuda_brackets(recording.note_starved)
        return recording.passing(iter(self._penstock_loader))

    def __len__(self) -> int:
        return len(self._penstock_loader)  # type: ignore[arg-type] # raises as the loader itself does

    def __getattr__(self, name: str) -> Any:
        return getattr(self._penstock_loader, name)

    def done(self, result: Any) -> Any:
        """Say which value (a loss, or a tuple, list or dict with one) the step ends with; returns it.

        A thread waits for it, and notes when it was there; the trainer does not wait. Cost: 5 us.
        """
        recording = self._penstock_recording
        step = len(recording.tape) - 1
        wait = blocker(result)
        if wait is None:
            recording.tape.note_done(step, recording.now())
        else:
            self._penstock_done.expect(step, wait, recording.tape.note_done)
        return result

    def trace(self) -> Trace:
        """What was noted so far, as plain data; see `penstock.telemetry.trace.Trace`."""
        self._penstock_done.join(_JOIN_S)
        return self._penstock_recording.trace()
