"""Penstock's own iterators measure themselves: stages, steps and nodes are theirs.

The trainer's side is noted as of any loader, over all epochs.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.probes.book import Book, Entry
from penstock.probes.recording import Recording
from penstock.probes.sums import add_traces
from penstock.telemetry.trace import Trace


def patches(book: Book) -> dict[str, Callable[[Any], None]]:
    """What to do to which module."""
    return {"penstock.session.iterator": lambda module: Iterators(book).patch(module.PipelineIterator)}


class Iterators:
    """Those of this process. The traces of finished ones are added up by recording; open ones are asked at the end."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self._told: dict[int, Trace] = {}

    def patch(self, kind: Any) -> None:
        """Note each request of a `PipelineIterator`, and its own trace before it closes."""
        original_init, original_next, original_finish = kind.__init__, kind.__next__, kind._finish

        @functools.wraps(original_init)
        def made(iterator: Any, *arguments: Any, **named: Any) -> None:
            original_init(iterator, *arguments, **named)
            owner = getattr(iterator, "_kept", None)
            book, owner = self._book, iterator if owner is None else owner
            recording = iterator._penstock_recording = book.safely(lambda: book.recording(owner, "penstock", "Dataset"))
            if recording is not None:
                book.others[id(recording)] = lambda: self._entry(recording)
                self._open.add(iterator)

        @functools.wraps(original_next)
        def asked(iterator: Any) -> Any:
            return self._book.ask(iterator._penstock_recording, lambda: original_next(iterator))

        @functools.wraps(original_finish)
        def finished(iterator: Any) -> None:
            if iterator in self._open:
                self._open.discard(iterator)
                self._tell(iterator)
            original_finish(iterator)

        kind.__init__, kind.__next__, kind._finish = made, asked, finished

    def _tell(self, iterator: Any) -> None:
        told = self._with(self._told.get(id(iterator._penstock_recording)), iterator)
        if told is not None:
            self._told[id(iterator._penstock_recording)] = told

    def _with(self, told: Trace | None, iterator: Any) -> Trace | None:
        trace = iterator.trace()
        if not trace.consumer.requests:
            return told
        return trace if told is None else add_traces(told, trace)

    def _entry(self, recording: Recording) -> Entry:
        """As of now: it is asked while the script runs, too, and an open iterator goes on."""
        noted, own = recording.trace(), self._told.get(id(recording))
        for iterator in [one for one in self._open if one._penstock_recording is recording]:
            own = self._with(own, iterator)
        if own is None:
            return Entry(noted)
        return Entry(
            replace(
                own, consumer=replace(noted.consumer, ready=own.consumer.ready),
                began_at=noted.began_at, seconds=noted.seconds, framework=noted.framework, intervals=noted.intervals,
                retraces=noted.retraces, notes=(*noted.notes, *own.notes),
            )
        )  # fmt: skip
