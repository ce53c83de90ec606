"""`penstock.train.Monitor`: what a training does with its time, told while it runs and afterwards."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from penstock.diagnose.conclude import diagnose
from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.report.file import write_whole
from penstock.diagnose.report.html import page_of
from penstock.errors import InvalidArgumentError
from penstock.probes.trainer import blocker
from penstock.telemetry.clock import Clock
from penstock.telemetry.trace import Trace
from penstock.train.monitor.alarms import Alarm
from penstock.train.monitor.callback import KERAS_ASKS_FIRST, keras_type
from penstock.train.monitor.document import as_json
from penstock.train.monitor.epoch import Epoch
from penstock.train.monitor.hearing import hearing_engine
from penstock.train.monitor.loss_scale import LossScale, TorchLossScale
from penstock.train.monitor.run import Run
from penstock.train.monitor.standing import Standing
from penstock.train.monitor.stream import Stream
from penstock.train.monitor.summary import as_markup, as_text
from penstock.train.monitor.training import training_section


def tell_on_stderr(alarm: Alarm) -> None:
    """One line, apart from a progress bar's."""
    sys.stderr.write(f"\npenstock: {alarm}\n")


class Monitor:
    """Steps and epochs, what the device waits for, memory, accelerators and cores: during `fit`, or a loop of your own.

        model.fit(train.to_keras(), callbacks=[monitor := penstock.train.Monitor()])
        print(monitor)

    is a callback of Keras where Keras was imported before, on TensorFlow, JAX and PyTorch, for any data. In a loop:

        monitor = penstock.train.Monitor()
        for batch in monitor.watch(loader):
            loss = train_step(batch)
            monitor.done(loss)  # optional: exact numbers where the framework dispatches asynchronously

    or, where the loader is out of reach, `with monitor.step():` around the trainer's own work: what lies between two
    of them is input. It is about its last run: a second `fit` begins anew. Nothing is made to wait for the device.

    tensorboard: a folder; scalars of steps and epochs are written there as training goes. scaler: the
    `torch.amp.GradScaler` of a loop, to count the steps it leaves out. sample: whether a thread reads the machine
    (cores and memory each second, accelerators ten times). tell: called once with each alarm (waiting above 30 %, an
    accelerator in turns, memory that grows, clocks held down); None: silence; otherwise a line on standard error.
    Cost: some 10 us a step (benchmarks/train/monitor.py).
    Raises: WriteError: when a run begins, `tensorboard` cannot be written.
    """

    _run: Run | None

    def __new__(cls, *arguments: Any, **named: Any) -> Monitor:
        """As Keras' own kind of callback, where Keras is there to ask for one."""
        del arguments, named
        kind = keras_type(cls, sys.modules) if cls is Monitor else None
        return object.__new__(cls if kind is None else kind)

    def __init__(
        self,
        *,
        tensorboard: str | os.PathLike[str] | None = None,
        scaler: Any = None,
        sample: bool = True,
        tell: Callable[[Alarm], None] | None = tell_on_stderr,
        clock: Clock | None = None,
    ) -> None:
        super().__init__()
        self._clock = Clock() if clock is None else clock
        self._stream = None if tensorboard is None else Stream(tensorboard)
        self._scale = None if scaler is None else TorchLossScale(scaler)
        self._sample = sample
        self._tell = tell if tell is not None else lambda alarm: None
        self._standing = Standing()
        self._run = None
        self._left_at: float | None = None
        self._seen = 0

    # A loop of the user's own.

    def watch(self, loader: Iterable[Any]) -> Watched:
        """The same loader, with what its trainer asks of it noted; each pass over it is an epoch.

        Raises: InvalidArgumentError: it cannot be iterated.
        """
        if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
            raise InvalidArgumentError(
                "Monitor.watch: not a loader", got=type(loader).__name__, expected="something a for loop can iterate",
                remedy="pass the loader itself, not the function that makes it",
            )  # fmt: skip
        return Watched(self, loader)

    @contextmanager
    def step(self, batch: Any = None) -> Iterator[None]:
        """Around the trainer's own work on one batch: what lies between two steps is input.

        batch: to count its rows and see whether its shape is new. Within `monitor.watch(loader)`, which hears the
        requests themselves, it changes nothing.
        """
        run = self._going()
        tape, now = run.recording.tape, run.clock.now
        if len(tape) == self._seen:  # no request was heard
            entered = now()
            run.recording.gave(entered if self._left_at is None else self._left_at, entered, batch)
        if run.recording.brackets is not None:
            run.recording.brackets.leave()
        try:
            yield
        finally:
            if run.recording.brackets is not None:
                run.recording.brackets.enter()
            self._seen, self._left_at = len(tape), now()

    @contextmanager
    def epoch(self) -> Iterator[None]:
        """Around the steps of one epoch, where `step` is used alone."""
        run = self._going()
        run.begin_epoch(run.begun)
        self._left_at = run.clock.now()
        try:
            yield
        finally:
            run.end_epoch(self._left_at)

    def done(self, result: Any) -> Any:
        """Say which value (a loss, or a tuple, list or dict with one) the step ends with; returns it.

        A thread waits for it, the trainer does not. Cost: 5 us.
        """
        run = self._going()
        number, wait = len(run.recording.tape) - 1, blocker(result)
        if wait is None:
            run.recording.tape.note_done(number, run.clock.now())
        else:
            run.done.expect(number, wait, run.recording.tape.note_done)
        return result

    def close(self) -> None:
        """The loop is over: its threads end, its file is closed. `fit` does so by itself. Idempotent."""
        if self._run is not None:
            self._run.finish()
        self._left_at = None

    def __enter__(self) -> Monitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What it has to say.

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """The epochs that are over."""
        return tuple(self._known().epochs)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """What was told so far."""
        return tuple(self._known().told)

    def trace(self) -> Trace:
        """All that was measured, as plain data: `penstock.diagnose(monitor.trace())`. Cost: milliseconds."""
        run = self._known()
        trace = run.trace()
        return replace(trace, notes=(*trace.notes, *self._absent()))

    def diagnose(self) -> Diagnosis:
        """What holds the run back, and what to do: `penstock.diagnose` of its trace."""
        return diagnose(self.trace())

    def summary(self) -> str:
        """The run in a page of text, as `print(monitor)` shows it."""
        return str(self)

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write epochs, alarms, diagnosis and trace as one JSON document; the path. Raises: WriteError."""
        trace = self.trace()
        document = as_json(trace, diagnose(trace), self.epochs, self.alarms)
        return write_whole("Monitor: JSON", path, document.encode())

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one HTML page: the doctor's, with the curves of the training; the path. Raises: WriteError."""
        trace = self.trace()
        page = page_of(trace, diagnose(trace), training_section(trace, self.epochs, self.alarms))
        return write_whole("Monitor: report", path, page.encode("utf-8", "replace"))

    def __str__(self) -> str:
        if self._run is None:
            return "Monitor: nothing was seen yet"
        trace = self.trace()
        return as_text(trace, diagnose(trace), self.epochs, self.alarms)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[str]:
        del console, options
        yield as_markup(str(self))

    def __getattr__(self, name: str) -> Any:
        """A monitor that was older than the import of Keras becomes a callback when Keras first asks."""
        kind = keras_type(Monitor, sys.modules) if type(self) is Monitor and name in KERAS_ASKS_FIRST else None
        if kind is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        self.params = self._model = None
        self.__class__ = kind
        return getattr(self, name)

    # What its callbacks use.

    def _begin(self, framework: str, frame: FrameType | None, scale: LossScale | None) -> Run:
        if self._run is not None:
            self._run.finish()
        if frame is not None:
            self._standing.note(frame)
        self._left_at, self._seen = None, 0
        self._run = Run(
            framework=framework, clock=self._clock, sample=self._sample, standing=self._standing, tell=self._tell,
            stream=self._stream, loss_scale=self._scale if scale is None else scale,
        )  # fmt: skip
        return self._run

    def _going(self) -> Run:
        """The run of a loop, which begins with its first step."""
        run = self._run
        return self._begin("", None, None) if run is None or run.is_over else run

    def _known(self) -> Run:
        if self._run is None:
            raise InvalidArgumentError(
                "Monitor: nothing was seen yet", expected="a fit with callbacks=[monitor], monitor.watch(loader) or "
                "monitor.step()",
            )  # fmt: skip
        return self._run

    def _absent(self) -> tuple[str, ...]:
        """What is not there, and what that takes away; what ended early."""
        if self._stream is None:
            return ()
        told = [self._stream.why_ended] if self._stream.why_ended else []
        if find_spec("tensorboard") is None:
            told.append("TensorBoard is not installed: its files are written all the same (pip install tensorboard)")
        return tuple(told)


class Watched:
    """A loader under a monitor; see `Monitor.watch`."""

    def __init__(self, monitor: Monitor, loader: Iterable[Any]) -> None:
        self._penstock_monitor = monitor
        self._penstock_loader = loader

    def __iter__(self) -> Iterator[Any]:
        run = self._penstock_monitor._going()
        run.begin_epoch(run.begun)
        batches = hearing_engine(self._penstock_loader, run.opened)
        is_through = False
        try:
            yield from run.passing(batches, self._penstock_loader)
            is_through = True
        finally:
            run.end_epoch()
            if not is_through:
                run.leave()

    def __len__(self) -> int:
        return len(self._penstock_loader)  # type: ignore[arg-type] # raises as the loader itself does

    def __getattr__(self, name: str) -> Any:
        return getattr(self._penstock_loader, name)
