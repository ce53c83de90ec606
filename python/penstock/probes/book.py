"""All that is noted in one process: a recording for each loader, and who asks whom."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from penstock.probes.fetching import Fetches, seen_of
from penstock.probes.place import user_place
from penstock.probes.recording import Recording
from penstock.probes.stacks import Samples
from penstock.probes.trainer import EventBrackets, cuda_brackets
from penstock.telemetry.trace import Source, Trace

Made = TypeVar("Made")
MakeEntry = Callable[[], "Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One loader: its trace, what this process noted of its elements' making, and its dataset, to find its workers."""

    trace: Trace
    fetches: Fetches | None = None
    dataset: str = ""
    dataset_ids: tuple[int, ...] = ()


class Book:
    """The recordings of this process.

    A loader inside another (a dataset that a DataLoader reads) is not asked by the trainer, so only the outermost
    request of a thread counts. `asking` names the threads that are inside a request now, for the stack sampler.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.now = now
        self.notes: list[str] = []
        self.asking: dict[int, Recording] = {}
        self.trainers: set[int] = set()
        self.recordings: list[Recording] = []
        self.fetches: dict[int, Fetches] = {}
        self.others: dict[int, MakeEntry] = {}
        self.compilations = 0
        self.looking_s: Callable[[], float] = float
        self.began: Callable[[], None] = lambda: None
        self.began_worker: Callable[[], None] = lambda: None
        self._owners: list[weakref.ref[Any]] = []
        self.current: Recording | None = None

    def clear(self) -> None:
        """As in a process that has just been forked: nothing happened here yet."""
        self.asking.clear()
        self.trainers.clear()
        self.recordings.clear()
        self._owners.clear()
        self.others.clear()
        self.current = None
        self.fetches.clear()

    def recording(self, owner: Any, source: Source, name: str, place: str = "") -> Recording:
        """The recording of the loader `owner`, one for all of its passes. place: where it was written; else this line.

        A loader that was made anew at the same line after the last one was gone goes on with its recording.
        """
        place = place or user_place()
        label = f"{name} at {place}" if place else name
        for known, ref in zip(self.recordings, self._owners, strict=True):
            if ref() is owner:
                return known
        for n, (known, ref) in enumerate(zip(self.recordings, self._owners, strict=True)):
            if ref() is None and known.loader == label and known.source == source:
                self._owners[n] = weakref.ref(owner)
                return known
        ref, made = weakref.ref(owner), Recording(source, label, self.now)
        self.began()
        self.recordings.append(made)
        self._owners.append(ref)
        return made

    def adopt(self, recording: Recording, owner: Any) -> None:
        """A recording that was made elsewhere is one of this process."""
        if recording not in self.recordings:
            self.began()
            self.recordings.append(recording)
            self._owners.append(weakref.ref(owner))

    def is_asking(self) -> bool:
        """Whether this thread is inside a request that is noted already."""
        return threading.get_ident() in self.asking

    def compiled(self, seconds: float) -> None:
        """The trainer's function was compiled, or a part of that was done, for the batch that was given last."""
        self.compilations += 1
        if self.current is not None:
            self.current.compiled(seconds)

    def safely(self, make: Callable[[], Made]) -> Made | None:
        """`make()`; where that fails the loader is not instrumented, it is said, and the script goes on."""
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - a loader in a state that no probe foresaw is still the script's
            self.say(f"a loader is not instrumented: {type(error).__name__}: {error}")
            return None

    def say(self, note: str) -> None:
        """A note for every trace of this process, once."""
        if note not in self.notes:
            self.notes.append(note)

    def _penstock_request(
        self, recording: Recording | None, request: Callable[[], Any], spent_before_s: float = 0.0
    ) -> Any:
        """`request()`, noted for `recording` if nobody in this thread is inside a request already.

        spent_before_s: seconds that opening the pass took, which belong to its first request.
        """
        thread = threading.get_ident()
        if recording is None or thread in self.asking:
            return request()
        if recording.brackets is None:
            recording.brackets = self._brackets(recording)
        elif isinstance(recording.brackets, EventBrackets):
            recording.brackets.enter()
        asked = self.now() - spent_before_s
        self.asking[thread] = self.current = recording
        self.trainers.add(thread)
        try:
            batch = request()
        except StopIteration:
            recording.tape.end_pass(asked)
            raise
        finally:
            del self.asking[thread]
        try:
            recording.gave(asked, self.now(), batch)
            if recording.brackets is not None:
                recording.brackets.leave()
        except Exception as error:  # noqa: BLE001 - a batch unlike any other is still the script's
            self.say(f"{recording.loader}: part of it was not noted: {type(error).__name__}: {error}")
        return batch

    def asked(self, recording: Recording, iterator: Iterator[Any]) -> Iterator[Any]:
        """`iterator`, each request noted."""
        request = iterator.__next__
        while True:
            try:
                batch = self.ask(recording, request)
            except StopIteration:
                return
            yield batch
            del batch

    ask = _penstock_request

    def _brackets(self, recording: Recording) -> EventBrackets | None:
        """Where the script has opened CUDA by now: looked for at the first requests, then at few."""
        count = len(recording.tape)
        if count > 1 and count & 0xFF:
            return None
        return cuda_brackets(lambda n, starved: recording.note_starved(count + n, starved))

    def samples_of(self, thread: int) -> Samples | None:
        """Whose samples a thread's stack is: of the loader it asks; if it is no trainer's, of the one asked last."""
        recording = self.asking.get(thread)
        if recording is not None:
            return recording.samples
        return None if thread in self.trainers or self.current is None else self.current.samples

    def close(self) -> None:
        """The process ends: no profile is left open."""
        for recording in self.recordings:
            if recording.windows is not None:
                recording.windows.close()

    def entries(self) -> list[Entry]:
        """What is known of each loader that gave anything, the one most time went by with first."""
        found = [self._entry(one) for one in self.recordings if len(one.tape) or id(one) in self.others]
        found = [self._without_free_shapes(one) for one in found if one.trace.consumer.steps]
        own = f"overhead: 3 us a request, and {self.looking_s():.2f} CPU seconds of samples in this process"
        found = [replace(one, trace=replace(one.trace, notes=(*one.trace.notes, *self.notes, own))) for one in found]
        return sorted(found, key=lambda one: -(one.trace.consumer.wait_s + one.trace.consumer.between_s))

    def _without_free_shapes(self, entry: Entry) -> Entry:
        """New shapes cost PyTorch nothing where nothing was compiled."""
        if entry.trace.framework != "torch" or self.compilations:
            return entry
        return replace(entry, trace=replace(entry.trace, retraces=()))

    def _entry(self, recording: Recording) -> Entry:
        if id(recording) in self.others:
            return self.others[id(recording)]()
        samples = recording.samples
        made = Fetches(
            recording.dataset, seen=seen_of(samples.spots), rounds=samples.rounds, interval_s=samples.interval_s,
            looking_s=self.looking_s(),
        )  # fmt: skip
        for number in recording.dataset_ids:
            fetches = self.fetches.get(number)
            if fetches is not None:
                made.made.merge(fetches.made)
                made.collate_s += fetches.collate_s
        return Entry(recording.trace(), made, recording.dataset, tuple(recording.dataset_ids))
