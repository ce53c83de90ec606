"""`penstock.watch` in a script under the doctor: the loader it wraps is noted once, with the script's own `done`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.probes.book import Book


def patches(book: Book) -> dict[str, Callable[[Any], None]]:
    """What to do to which module."""
    return {"penstock.probes.watch": lambda module: patch_watch(module.Watch, book)}


def patch_watch(kind: Any, book: Book) -> None:
    """A loader that has a probe of its own is left to it; of any other, the recording of the watch is the book's."""
    original_done = kind.done

    def iterated(self: Any) -> Any:
        iterator = iter(self._penstock_loader)
        recording = self._penstock_recording
        if recording.source != "iterable":
            return iterator
        book.adopt(recording, self)
        return book.asked(recording, iterator)

    @functools.wraps(original_done)
    def done(self: Any, result: Any) -> Any:
        if book.current is not None:
            self._penstock_recording = book.current
        return original_done(self, result)

    kind.__iter__, kind.done = iterated, done
