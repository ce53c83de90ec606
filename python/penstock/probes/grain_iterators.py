"""Grain: what the trainer asks of a `DataLoader` or of a `MapDataset` or `IterDataset`.

Every class of iterators is noted as it is made; the one that the user's own loop asks counts, not those within it or in
threads that prefetch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.probes.book import Book
from penstock.probes.place import user_place
from penstock.probes.recording import Recording
from penstock.probes.version import Releases
from penstock.telemetry.trace import StageTrace, Value

RELEASES = Releases("Grain", (0, 2), (0, 2))


def patches(book: Book) -> dict[str, Callable[[Any], None]]:
    """What to do to which module."""
    return {
        "grain._src.python.dataset.dataset": lambda module: patch_datasets(module, book),
        "grain._src.python.data_loader": lambda module: patch_loader(module, book),
    }


def patch_loader(module: Any, book: Book) -> None:
    """Note requests of `grain.DataLoader`."""
    RELEASES.require(module.DataLoaderIterator, "__next__")
    _note(module.DataLoaderIterator, book, "DataLoader")


def patch_datasets(module: Any, book: Book) -> None:
    """Note requests of every kind of dataset iterator, when its class is made."""
    base = module.DatasetIterator
    RELEASES.require(base, "get_state")
    own = vars(base).get("__init_subclass__")

    def made(kind: Any, /, **named: Any) -> None:
        if own is None:
            super(base, kind).__init_subclass__(**named)
        else:
            own.__func__(kind, **named)
        if "__next__" in vars(kind):
            _note(kind, book, "Dataset")

    base.__init_subclass__ = classmethod(made)


def _note(kind: Any, book: Book, name: str) -> None:
    original = kind.__next__

    @functools.wraps(original)
    def asked(self: Any) -> Any:
        if book.is_asking() or not hasattr(self, "__dict__"):
            return original(self)
        if "_penstock_recording" not in self.__dict__:
            place = user_place()  # none in a thread of Grain's own
            self.__dict__["_penstock_recording"] = (
                book.safely(lambda: recording_of(self, book, name)) if place else None
            )
        return book.ask(self.__dict__["_penstock_recording"], lambda: original(self))

    kind.__next__ = asked


def recording_of(iterator: Any, book: Book, name: str) -> Recording:
    """The recording of a Grain iterator, with the settings of its loader."""
    recording = book.recording(iterator, "grain", f"grain {name}")
    if recording.stages:
        return recording
    loader = getattr(iterator, "_data_loader", None)
    settings: dict[str, Value] = {}
    multiprocessing = getattr(loader, "_multiprocessing_options", None)
    reading = getattr(loader, "_read_options", None)
    for key, holder, attribute in (
        ("worker_count", multiprocessing, "num_workers"),
        ("worker_buffer_size", multiprocessing, "per_worker_buffer_size"),
        ("num_threads", reading, "num_threads"),
        ("prefetch_buffer_size", reading, "prefetch_buffer_size"),
    ):
        value = getattr(holder, attribute, None)
        if isinstance(value, int):
            settings[key] = value
    recording.settings = settings
    workers = settings.get("worker_count")
    many = workers if isinstance(workers, int) else 0
    threads = settings.get("num_threads")
    recording.stages = (
        StageTrace(
            id="loader", kind="loader", label=recording.loader, executor="processes" if many else "threads",
            workers=max(1, many or (threads if isinstance(threads, int) else 1)), said=bool(settings),
        ),
    )  # fmt: skip
    return recording
