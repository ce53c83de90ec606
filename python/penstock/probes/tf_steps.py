"""Steps whose requests happen inside a graph, in `fit` on TensorFlow: Python sees the steps, a profile the waiting."""

from __future__ import annotations

import threading
from array import array
from typing import Any

from penstock.probes.book import Book, Entry
from penstock.probes.fetching import Fetches, seen_of
from penstock.probes.keras_data import recording_of_x
from penstock.probes.tf_profile import Profiled, windows


class GraphSteps:
    """One `fit`: when each of its steps began, and what the profile said of some.

    The waiting of a step that was not profiled is taken to be the profiled ones' share of it.
    """

    def __init__(self, x: Any, book: Book, batch_size: int | None = None) -> None:
        self._book = book
        self._recording = recording_of_x(x, book, batch_size)
        self._windows = self._recording.windows = windows(book.now, self._recording.say)
        self._began: array[float] = array("d")
        self._ended: array[float] = array("d")
        self._passes: list[int] = []
        self._is_in_step = False
        book.others[id(self._recording)] = self._entry
        book.current = self._recording
        book.trainers.add(threading.get_ident())

    def begin_pass(self) -> None:
        """An epoch begins."""
        self._end_step()
        self._passes.append(len(self._began))
        self._book.current = self._recording

    def begin(self) -> None:
        """A step begins, so the one before is over."""
        self._end_step()
        self._windows.step()
        self._began.append(self._book.now())
        self._is_in_step = True

    @property
    def profiled(self) -> Profiled:
        """What the profile said so far."""
        return self._windows.profiled

    @property
    def count(self) -> int:
        """Steps that ended."""
        return len(self._ended)

    def pull(self, *, is_last: bool = True) -> None:
        """Let steps that ended come to the tape. is_last: though no profile has told of their waiting."""
        recording, share = self._recording, self.profiled.waiting
        if share is None and not is_last:
            return
        tape = recording.tape
        passes = set(self._passes)
        for i in range(len(tape), len(self._ended)):
            if i in passes:
                tape.end_pass()
            began, ended = self._began[i], self._ended[i]
            waited = 0.0 if share is None else share * (ended - began)
            tape.asked.append(began)
            tape.got.append(began + waited)
            tape.ends[len(tape.asked) - 1] = ended
        recording.count_rows(len(tape))
        recording.method = "profile" if share is not None else "host wait"

    def _end_step(self) -> None:
        if self._is_in_step:
            self._ended.append(self._book.now())
            self._is_in_step = False

    def end_pass(self) -> None:
        """An epoch is over; what comes until the next is not the trainer's step."""
        self._end_step()

    def finish(self) -> None:
        """The fit is over."""
        self._end_step()
        self._windows.close()

    def _entry(self) -> Entry:
        recording, is_known = self._recording, self.profiled.waiting is not None
        self.pull()
        if not is_known:
            recording.say("no request was seen: too few steps, or they are not in the graph; the waiting is not known")
        samples = recording.samples
        fetches = Fetches(
            seen=seen_of(samples.spots), rounds=samples.rounds, interval_s=samples.interval_s,
            looking_s=self._book.looking_s(),
        )  # fmt: skip
        return Entry(recording.trace(is_known=is_known), fetches)
