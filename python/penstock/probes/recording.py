"""One loader as its trainer met it: what is noted at each request, and the trace that comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from penstock.machine.budget import measure_budget
from penstock.machine.readings import Host
from penstock.probes.shapes import Shapes
from penstock.probes.signature import rows
from penstock.probes.stacks import Samples
from penstock.probes.tape import LONGEST, Tape, Totals
from penstock.probes.tf_profile import Windows
from penstock.probes.trainer import Brackets, is_synchronous, trainer
from penstock.telemetry.trace import Consumer, Method, NodeTrace, Source, StageTrace, StepTrace, Trace, Value

_KNOWN_SHARE = 0.5

NOTES: dict[Method, str] = {
    "device done": "starvation: from the moment each step was done on the device, not from the wait in next()",
    "synchronous": "starvation: the wait in next(); this trainer waits for its device before it asks for more",
    "host wait": "starvation: at most the wait in next(); when the device was done is not known, so this is an upper "
    "bound (penstock.watch(loader) with w.done(loss) tells it exactly)",
    "profile": "starvation: time in the graph's own request for input, from a short profile",
}


class Recording:
    """What was noted of one loader. One thread at a time may ask; `note_done` may come from another.

    Cost: one to two microseconds a request, of which a fifth of one are the two readings of the clock.
    """

    def __init__(self, source: Source, loader: str, now: Callable[[], float] = time.perf_counter) -> None:
        self.source: Source = source
        self.loader = loader
        self.now = now
        self.tape = Tape()
        self.rows = 0
        self.framework = ""
        self.method: Method | None = None
        self.settings: dict[str, Value] = {}
        self.stages: tuple[StageTrace, ...] = ()
        self.steps: tuple[StepTrace, ...] = ()
        self.nodes: tuple[NodeTrace, ...] = ()
        self.notes: list[str] = []
        self.brackets: Brackets | None = None
        self.opened_at = now()
        self.began_at = time.time()
        self.first_s: float | None = None
        self.samples = Samples()
        self.windows: Windows | None = None
        self.functions: dict[str, frozenset[str]] = {}
        self.dataset = ""
        self.dataset_ids: dict[int, None] = {}
        self.shapes = Shapes()
        self._is_other = self.shapes.is_other
        self._rows_each = 0
        self._has_rows = True
        self._asked = self.tape.asked
        self._note_asked = self.tape.asked.append
        self._note_got = self.tape.got.append

    @property
    def has_rows(self) -> bool:
        """Whether `rows` counts: each batch so far said how many it has."""
        return self._has_rows

    def gave(self, asked: float, got: float, batch: Any) -> None:
        """A request that began at `asked` has been answered at `got`."""
        self._note_asked(asked)
        self._note_got(got)
        if self._is_other(batch):
            self._look(batch)
        self.rows += self._rows_each
        if len(self._asked) >= LONGEST:
            self.tape.fold()

    def _look(self, batch: Any) -> None:
        count = rows(batch)
        self._has_rows = count is not None
        self._rows_each = count or 0
        if self.first_s is None:
            self.first_s = self.tape.got[0] - self.opened_at
        self.shapes.note(batch, len(self.tape) - 1)

    def compiled(self, seconds: float) -> None:
        """The trainer compiled for this long; where its last batch had a new signature, that is what it cost."""
        self.shapes.compiled(seconds, len(self.tape) - 1)

    def note_starved(self, step: int, seconds: float) -> None:
        """The device itself says how long it starved before batch number `step`."""
        tape = self.tape
        position = step - tape.totals.steps
        if 0 < position < len(tape.got):
            wait_s = tape.got[position] - tape.asked[position]
            tape.note_done(step - 1, tape.got[position] - min(seconds, wait_s))

    def passing(self, iterator: Iterator[Any]) -> Pass:
        """One pass over the loader: `iterator`'s elements, each noted."""
        self.tape.end_pass()
        return Pass(self, iterator)

    def say(self, note: str) -> None:
        """A note for the trace, once."""
        if note not in self.notes:
            self.notes.append(note)

    def count_rows(self, steps: int) -> None:
        """Rows of so many batches, where no batch was seen but their size was set."""
        size = next((node.facts["batch_size"] for node in self.nodes if "batch_size" in node.facts), None)
        self._has_rows = isinstance(size, int) and size > 0
        self.rows = steps * size if isinstance(size, int) else 0

    def trace(self, *, is_known: bool = True) -> Trace:
        """What is known so far. `is_known`: whether its waits are; else they are left out.

        Cost: a microsecond a request since the last fold, and some files about the machine.
        """
        if self.brackets is not None:
            self.brackets.collect()
        totals = self.tape.finish()
        steps = self.steps
        if self.windows is not None and not steps and self.stages:
            seconds = totals.wait_s + totals.between_s
            steps = self.windows.profiled.steps_of(self.functions, seconds, self.stages[0].id)
        if self.windows is not None and self.windows.profiled.steps:
            self.say(
                f"functions of the dataset and their ops: from TensorFlow's profile of {self.windows.profiled.steps} "
                "steps, taken to stand for the rest; 0.1 s for each profile, which count for no step"
            )
        framework = self.framework or trainer()
        method = self._method(totals, framework)
        end = self.now()
        return Trace(
            source=self.source,
            loader=self.loader,
            host=this_host(),
            consumer=Consumer(
                steps=totals.steps,
                rows=self.rows if self._has_rows else None,
                wait_s=totals.wait_s,
                between_s=totals.between_s if is_known else 0.0,
                starved_s=totals.starved_s if is_known else None,
                method=method,
                first_s=self.first_s or 0.0,
                ready=totals.ready,
                requests=totals.steps,
            ),
            began_at=self.began_at,
            seconds=end - self.opened_at,
            framework=framework,
            settings=dict(self.settings),
            stages=self.stages,
            steps=steps,
            nodes=self.nodes,
            intervals=tuple(replace(one, at_s=one.at_s - self.opened_at) for one in totals.intervals),
            retraces=tuple(self.shapes.retraces),
            notes=(NOTES[method], *self.notes),
        )

    def method_so_far(self) -> Method:
        """How the starvation of requests that left the tape is known."""
        return self._method(self.tape.totals, self.framework or trainer())

    def _method(self, totals: Totals, framework: str) -> Method:
        if self.method is not None:
            return self.method
        if totals.steps > 1 and totals.known >= _KNOWN_SHARE * (totals.steps - 1):
            return "device done"
        return "synchronous" if is_synchronous(framework) else "host wait"


class Pass(Iterator[Any]):
    """An iterator whose requests are noted; everything else of it is the one it wraps."""

    def __init__(self, recording: Recording, iterator: Iterator[Any]) -> None:
        self._penstock_recording = recording
        self._penstock_iterator = iterator
        self._penstock_next = iterator.__next__
        self._penstock_now = recording.now

    def __iter__(self) -> Pass:
        return self

    def __next__(self) -> Any:
        recording = self._penstock_recording
        now = self._penstock_now
        if recording.brackets is not None:
            recording.brackets.enter()
        asked = now()
        try:
            batch = self._penstock_next()
        except StopIteration:
            recording.tape.end_pass(asked)
            raise
        recording.gave(asked, now(), batch)
        if recording.brackets is not None:
            recording.brackets.leave()
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._penstock_iterator, name)


def this_host() -> Host:
    """The budget of this process, as traces carry it."""
    return measure_budget().host()
