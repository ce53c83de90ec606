"""Run: one fit, or one loop, from its first request to its end; a monitor tells of the last one it had.

Requests are noted on a `Recording`. Once a second, and where an epoch ends, they leave its tape: they are added up by
epoch and streamed to TensorBoard. Every ten seconds the trace so far is looked at for alarms.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.machine.host import HostReader
from penstock.machine.nvml import open_accelerators
from penstock.probes.book import Book
from penstock.probes.done import DoneThread
from penstock.probes.recording import Pass, Recording, this_host
from penstock.probes.sums import add_traces
from penstock.probes.tf_steps import GraphSteps
from penstock.probes.trainer import cuda_brackets, trainer
from penstock.telemetry.clock import Clock
from penstock.telemetry.sampling import HostSampler
from penstock.telemetry.trace import Consumer, Interval, Sample, Source, Trace
from penstock.train.monitor.alarms import Alarm, alarms
from penstock.train.monitor.device_memory import peak_bytes
from penstock.train.monitor.epoch import Epoch, Sums, read_over
from penstock.train.monitor.hearing import describe
from penstock.train.monitor.loss_scale import LossScale
from penstock.train.monitor.standing import Standing
from penstock.train.monitor.stream import Stream

LOOK_EVERY_S = 1.0
ALARM_EVERY_S = 10.0
QUIET_S = 60.0
"""Without a request for so long, nobody reads the machine until the next."""
_IN_FLIGHT = 64
"""Steps that may not be done yet: JAX runs ahead of its device by up to 35."""
_RECENT = 256
"""Steps by which alarms judge."""
_JOIN_S = 2.0


class Noted(Recording):
    """A recording that is looked at from time to time."""

    def __init__(self, source: Source, loader: str, now: Callable[[], float], look: Callable[[float], None]) -> None:
        super().__init__(source, loader, now)
        self.look = look
        self.look_at = now() + LOOK_EVERY_S

    def gave(self, asked: float, got: float, batch: Any) -> None:
        super().gave(asked, got, batch)
        if got >= self.look_at:
            self.bracket(len(self.tape) - 1)
            self.look(got)

    def bracket(self, first: int) -> None:
        """Mark requests on PyTorch's CUDA stream, from number `first` on, once it is the one that trains."""
        if self.brackets is None and (self.framework or trainer()) == "torch":
            self.brackets = cuda_brackets(lambda n, starved: self.note_starved(first + n, starved))


@dataclass(slots=True)
class _Open:
    """An epoch that is not added up yet. began, ended: numbers of its first step, and of the first after it."""

    number: int
    began: int
    began_s: float
    rows_before: int
    shapes_before: int
    ended: int | None = None
    ended_s: float = 0.0
    rows: int | None = None
    skipped: int | None = None
    new_shapes: int = 0
    device_peak_bytes: int | None = None


class Run:
    """See the module. `tell` is told of each alarm once; `stream` of steps and epochs, None: nobody asked for it."""

    def __init__(
        self,
        *,
        framework: str = "",
        clock: Clock | None = None,
        sample: bool = True,
        standing: Standing | None = None,
        tell: Callable[[Alarm], None] = lambda alarm: None,
        stream: Stream | None = None,
        loss_scale: LossScale | None = None,
    ) -> None:
        self.clock = Clock() if clock is None else clock
        noted = Noted("iterable", "", self.clock.now, self.look)
        noted.framework = framework
        noted.bracket(0)
        self.recording: Recording = noted
        self.recording.tape.each = self._add
        self.standing = Standing() if standing is None else standing
        self.told: list[Alarm] = []
        self.epochs: list[Epoch] = []
        self.done = DoneThread(self.clock.now)
        self.is_over = False
        self.look_at = self.recording.opened_at + LOOK_EVERY_S
        self.loss_scale = loss_scale
        self.graph: GraphSteps | None = None
        self._book: Book | None = None
        self._sample = sample
        self._sampler: HostSampler | None = None
        self._samples: tuple[Sample, ...] = ()
        self._tell = tell
        self._stream = stream
        self._open: deque[_Open] = deque()
        self._sums = Sums()
        self._recent: deque[tuple[Interval, float]] = deque(maxlen=_RECENT)
        self._added = 0
        self._host = this_host()
        self._alarm_at = self.recording.opened_at + ALARM_EVERY_S
        self._heard_at = self.recording.opened_at
        self._is_left = False
        self._engine: Trace | None = None
        self._batches: Any = None
        self._ended_at: float | None = None
        if stream is not None:
            stream.begin(self.recording.began_at)
        self._wake()

    # What is noted.

    def passing(self, batches: Iterator[Any], owner: Any) -> Iterator[Any]:
        """One pass over the data, noted while this run goes on."""
        if not self.recording.loader:
            describe(self.recording, owner)
        heard = Pass(self.recording, batches)
        if self._open:
            weakref.finalize(heard, self._drop, self._open[-1]).atexit = False
        return heard

    def leave(self) -> None:
        """The loop was left before its data ended: by an error, a Ctrl-C, a `break`. It may go on later."""
        self._is_left = True

    def _drop(self, epoch: _Open) -> None:
        """Nobody holds this pass any more."""
        if epoch.ended is None:
            self.leave()

    def opened(self, batches: Any) -> None:
        """What Penstock's engine gives this pass: it measures itself."""
        if hasattr(batches, "trace"):
            self._engine = self._engine_trace()
            self._batches = batches

    def watch_graph(self, x: Any, batch_size: int | None = None) -> None:
        """Requests are made within TensorFlow's graph: steps are noted, and a short profile tells of the waiting."""
        book = Book(self.clock.now)
        self.graph = GraphSteps(x, book, batch_size)
        opened_at, began_at, framework = self.recording.opened_at, self.recording.began_at, self.recording.framework
        self._book, self.recording = book, book.recordings[-1]
        self.recording.opened_at, self.recording.began_at = opened_at, began_at
        self.recording.framework = framework
        self.recording.tape.each = self._add

    @property
    def steps(self) -> int:
        """Steps so far."""
        return len(self.recording.tape) if self.graph is None else self.graph.count

    @property
    def is_going(self) -> bool:
        """Whether the loop still runs: it has not ended, and no error has left it."""
        return not self.is_over and self.standing.is_there()

    @property
    def is_asleep(self) -> bool:
        """Whether nobody reads the machine, because the loop was left or has not begun."""
        return self._sampler is None or not self._sampler.is_running

    @property
    def begun(self) -> int:
        """Epochs that have begun."""
        return len(self.epochs) + len(self._open)

    def begin_epoch(self, number: int) -> None:
        """The trainer begins to go over its data."""
        self.end_epoch()
        recording = self.recording
        self._open.append(
            _Open(
                number, self.steps, self.clock.now() - recording.opened_at, recording.rows,
                len(recording.shapes.retraces),
            )
        )  # fmt: skip

    def end_steps(self, at: float) -> None:
        """What comes from now on, until the next request, is no step: validation, the user's callbacks."""
        self.recording.tape.pause(at)

    def end_epoch(self, at: float | None = None) -> None:
        """The trainer is through with its data, since `at` or now; idempotent."""
        if not self._open or self._open[-1].ended is not None:
            return
        now, recording, epoch = self.clock.now(), self.recording, self._open[-1]
        self.end_steps(now if at is None else at)
        self._pull()
        epoch.ended, epoch.ended_s = self.steps, now - recording.opened_at
        epoch.rows = recording.rows - epoch.rows_before if recording.has_rows and self.graph is None else None
        epoch.new_shapes = len(recording.shapes.retraces) - epoch.shapes_before
        if self.loss_scale is not None:
            epoch.skipped = self.loss_scale.skipped(epoch.ended - epoch.began)
        epoch.device_peak_bytes = peak_bytes(recording.framework)
        self.look(now)

    # What is made of it.

    def look(self, now: float) -> None:
        """Add up what is done; tell of alarms, if it is time. Cost: 1 us a step; for alarms milliseconds."""
        self.look_at = now + LOOK_EVERY_S
        self._heard_at, self._is_left = now, False
        if isinstance(self.recording, Noted):
            self.recording.look_at = self.look_at
        self._wake()
        is_between = bool(self._open) and self._open[-1].ended is not None
        is_settled = not self.done.is_waiting and self.recording.brackets is None
        self._fold(0 if is_between and is_settled else _IN_FLIGHT)
        if now >= self._alarm_at:
            self._alarm_at = now + ALARM_EVERY_S
            self.raise_alarms()

    def raise_alarms(self) -> None:
        """Tell of what is wrong now and was not told before."""
        known = {alarm.kind for alarm in self.told}
        for alarm in alarms(self._recent_trace()):
            if alarm.kind not in known:
                self.told.append(alarm)
                self._tell(alarm)
                if self._stream is not None:
                    self._stream.alarm(alarm)

    def finish(self) -> None:
        """It is over: nothing of it stays behind. Idempotent."""
        if self.is_over:
            return
        self.end_epoch()
        if self.graph is not None:
            self.graph.finish()
        self.done.join(_JOIN_S)
        if self.recording.brackets is not None:
            self.recording.brackets.collect()
        self._pull(is_last=True)
        self._fold(0)
        self.raise_alarms()
        self.is_over = True
        self._ended_at = self.clock.now()
        if self._sampler is not None:
            self._sampler.stop()
        if self._stream is not None:
            self._stream.close()

    def samples(self) -> tuple[Sample, ...]:
        """The host's readings so far."""
        return self._samples + (() if self._sampler is None else self._sampler.samples())

    @property
    def why_no_accelerators(self) -> str:
        """What keeps accelerators from being read; "": nothing."""
        return "" if self._sampler is None else self._sampler.why_no_accelerators

    def trace(self) -> Trace:
        """All of it as plain data; waits for steps that are still at work, two seconds at most."""
        self.done.join(_JOIN_S)
        recording, is_known = self.recording, True
        self._pull()
        if self.graph is not None:
            profiled = self.graph.profiled
            is_known = profiled.waiting is not None
        own = recording.trace(is_known=is_known)
        retraces = own.retraces if recording.framework != "torch" or _compiles() else ()
        seconds = own.seconds if self._ended_at is None else self._ended_at - recording.opened_at
        trace = replace(own, samples=self.samples(), retraces=retraces, seconds=seconds)
        engine = self._engine_trace()
        if engine is not None:
            trace = replace(
                engine, consumer=replace(own.consumer, ready=engine.consumer.ready), began_at=own.began_at,
                seconds=seconds, framework=own.framework, intervals=own.intervals, retraces=retraces,
                samples=trace.samples, notes=(*own.notes, *engine.notes),
            )  # fmt: skip
        why = self.why_no_accelerators
        return replace(trace, notes=(*trace.notes, why)) if why else trace

    def _recent_trace(self) -> Trace:
        """What alarms look at: the last steps, with the machine's readings of the whole run. Cost: 1 ms."""
        recording, now = self.recording, self.clock.now()
        requests = [request for request, _ in self._recent]
        consumer = Consumer(
            steps=len(requests), wait_s=sum(one.wait_s for one in requests),
            between_s=sum(between_s for _, between_s in self._recent),
            starved_s=sum(one.starved_s or 0.0 for one in requests) if self._is_waiting_known else None,
            method=recording.method_so_far(), first_s=requests[0].wait_s if requests else 0.0,
            ready=sum(one.ready for one in requests), requests=len(requests),
        )  # fmt: skip
        engine = self._engine_trace()
        if engine is None:
            engine = Trace(
                source=recording.source, loader=recording.loader, host=self._host, consumer=consumer,
                settings=recording.settings, stages=recording.stages, nodes=recording.nodes,
            )  # fmt: skip
        return replace(
            engine, consumer=consumer, framework=recording.framework, samples=self.samples(),
            intervals=tuple(requests), seconds=now - recording.opened_at,
        )  # fmt: skip

    def _engine_trace(self) -> Trace | None:
        if self._batches is None:
            return self._engine
        now = self._batches.trace()
        if not now.consumer.requests:
            return self._engine
        return now if self._engine is None else add_traces(self._engine, now)

    def _pull(self, *, is_last: bool = False) -> None:
        """Steps in a graph come to the tape once the profile can tell of their waiting, or no more will come."""
        if self.graph is not None:
            self.graph.pull(is_last=is_last)

    def _fold(self, keep: int) -> None:
        self.recording.tape.fold(keep)
        self._close_epochs()
        if self._stream is not None:
            self._stream.flush()

    def _add(self, request: Interval, between_s: float) -> None:
        """A step leaves the tape."""
        self._close_epochs()
        self._recent.append((request, between_s))
        self._sums.add(request, between_s)
        if self._stream is not None:
            self._stream.step(self._added, request.at_s - self.recording.opened_at, request, between_s)
        self._added += 1

    def _close_epochs(self) -> None:
        """Epochs all of whose steps were added."""
        while self._open and self._open[0].ended is not None and self._added >= self._open[0].ended:
            one, sums, self._sums = self._open.popleft(), self._sums, Sums()
            rows = one.rows if self.graph is None else self._rows_of(sums.steps)
            epoch = Epoch(
                number=one.number, steps=sums.steps, rows=rows, seconds=sums.seconds, wait_s=sums.wait_s,
                starved_s=sums.starved_s if self._is_waiting_known else None, first_s=sums.first_s,
                slowest_s=sums.slowest_s, skipped=one.skipped, new_shapes=one.new_shapes,
                device_peak_bytes=one.device_peak_bytes,
                **read_over(self.samples(), one.began_s, one.ended_s),  # type: ignore[arg-type] # by the same names
            )  # fmt: skip
            self.epochs.append(epoch)
            if self._stream is not None:
                self._stream.epoch(epoch, one.ended_s)

    def _rows_of(self, steps: int) -> int | None:
        """Rows of so many steps in a graph, where the size of a batch is known."""
        recording = self.recording
        return round(recording.rows / len(recording.tape) * steps) if recording.has_rows and recording.rows else None

    @property
    def _is_waiting_known(self) -> bool:
        return self.graph is None or self.graph.profiled.waiting is not None

    def _wake(self) -> None:
        """The machine is read while the loop runs; a thread that ended with a loop begins anew with the next."""
        if not self._sample or not self.is_asleep:
            return
        if self._sampler is not None:
            self._samples += self._sampler.samples()
        self._sampler = HostSampler(
            HostReader(open_accelerators()), self.clock, zero=self.recording.opened_at, is_wanted=self._is_heard
        ).start()

    def _is_heard(self) -> bool:
        return not self._is_left and self.clock.now() - self._heard_at < QUIET_S


def _compiles() -> bool:
    """Whether PyTorch compiled anything: else a new shape costs it nothing."""
    import sys

    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and bool(dynamo.counters["stats"].get("unique_graphs"))
