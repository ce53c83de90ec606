"""How a run hears what is asked of its data in `fit`: from Penstock's own passes, and from Keras' epoch iterators.

On JAX and PyTorch what Keras makes of other people's data is iterated in Python, by `EpochIterator._get_iterator`: the
class is asked once per process to pass that by whoever listens (`penstock.adapters.passes.LISTENERS`), and costs
nothing where nobody does. On TensorFlow other people's data is asked for within a graph; see `probes.tf_steps`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.adapters.passes import LISTENERS
from penstock.probes.book import Book
from penstock.probes.keras_data import recording_of_adapter
from penstock.probes.place import user_place
from penstock.probes.recording import Recording
from penstock.probes.tf_data import recording_of as tf_data_recording
from penstock.probes.torch_loader import recording_of as torch_recording
from penstock.probes.watch import source_of

OWN_ADAPTER = "PenstockDataAdapter"
_HEARD = "_penstock_is_heard"


def hear_epochs_of(kind: Any) -> None:
    """Let the epoch iterators of class `kind` pass by whoever listens."""
    if _HEARD in vars(kind):
        return
    original = kind._get_iterator

    @functools.wraps(original)
    def heard(self: Any) -> Any:
        iterator = original(self)
        listeners = LISTENERS.get()
        if not listeners or type(self.data_adapter).__name__ == OWN_ADAPTER:
            return iterator
        batches: Iterator[Any] = iter(iterator)
        for listener in listeners:
            batches = listener.passing(batches, self.data_adapter)
        return batches

    kind._get_iterator = heard
    setattr(kind, _HEARD, True)


class FitListener:
    """Lets a run hear what is asked for in its `fit`; one that was left by an error hears nothing more."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def passing(self, batches: Iterator[Any], owner: Any) -> Iterator[Any]:
        """Noted, while the fit goes on."""
        return self.run.passing(batches, owner) if self.run.is_going else batches

    def opened(self, batches: Any) -> None:
        """What the engine gives the pass."""
        if self.run.is_going:
            self.run.opened(batches)


class EngineListener:
    """Hears what is opened beneath a loader, not what is asked of it."""

    def __init__(self, opened: Callable[[Any], None]) -> None:
        self.opened = opened

    def passing(self, batches: Iterator[Any], owner: Any) -> Iterator[Any]:
        """As they are."""
        del owner
        return batches


def hearing_engine(loader: Iterable[Any], opened: Callable[[Any], None]) -> Iterator[Any]:
    """One pass over `loader`; where Penstock's engine is in it or beneath it, `opened` is told of its iterator."""
    before = LISTENERS.set((EngineListener(opened),))
    try:
        batches = iter(loader)
        opened(batches)
        first = [next(batches, _END)]  # whoever stands between opens it now
    finally:
        LISTENERS.reset(before)
    if first[0] is not _END:
        yield first.pop()
        yield from batches


_END = object()


def describe(recording: Recording, owner: Any) -> None:
    """Let `recording` say whose loader `owner` is (a data adapter of Keras, or a loader), and its settings."""
    book, told = Book(), None
    kind = type(owner).__name__
    if kind == "Passes":  # Penstock's engine tells of itself
        recording.source, recording.loader = "penstock", "Dataset"
        return
    loader, dataset = getattr(owner, "_dataloader", None), getattr(owner, "_dataset", None)
    if loader is not None:
        told = book.safely(lambda: torch_recording(loader, book))
    elif hasattr(dataset, "element_spec"):
        told = book.safely(lambda: tf_data_recording(dataset, book, "tf.data.Dataset in fit"))
    elif hasattr(owner, "get_numpy_iterator"):
        told = book.safely(lambda: recording_of_adapter(owner, book))
    elif source_of(owner) == "torch":
        told = book.safely(lambda: torch_recording(owner, book))
    elif source_of(owner) == "tf.data":
        told = book.safely(lambda: tf_data_recording(owner, book))
    if told is None:
        recording.source = source_of(owner)
        recording.loader = f"{kind} at {user_place()}".removesuffix(" at ")
        return
    recording.source, recording.loader, recording.settings = told.source, told.loader, told.settings
    recording.stages, recording.nodes = told.stages, told.nodes
