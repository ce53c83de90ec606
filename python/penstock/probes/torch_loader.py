"""PyTorch's DataLoader: what the trainer asks of it, its settings, and each element in each worker.

The request is `_BaseDataLoaderIter.__next__`; `DataLoader.__iter__` belongs to the first request of a pass, for it
starts the workers. Elements are timed one by one in whichever process fetches them: the fetcher is given a thin
stand-in for its dataset, which nothing else sees. Workers keep what they noted in files (`penstock.probes.worker`).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

from penstock.probes.book import Book
from penstock.probes.fetching import Fetches
from penstock.probes.place import is_users, label_of, user_place
from penstock.probes.recording import Recording
from penstock.probes.version import Releases
from penstock.probes.worker import noting_worker
from penstock.telemetry.trace import NodeTrace, StageTrace, Value

RELEASES = Releases("PyTorch", (2, 0), (2, 13))
_SETTINGS = (
    "num_workers prefetch_factor pin_memory persistent_workers batch_size drop_last timeout in_order pin_memory_device"
).split()


def patches(book: Book, directory: str | None) -> dict[str, Callable[[Any], None]]:
    """What to do to which module; `directory`: where workers leave what they noted."""
    return {
        "torch.utils.data.dataloader": lambda module: patch_loader(module, book),
        "torch.utils.data._utils.worker": lambda module: patch_worker(module, book, directory),
    }


def patch_loader(module: Any, book: Book) -> None:
    """Note requests of every DataLoader, and time what its fetchers fetch."""
    base, loader, kind = module._BaseDataLoaderIter, module.DataLoader, module._DatasetKind
    RELEASES.require(base, "__next__", "__init__")
    RELEASES.require(kind, "create_fetcher")
    note = RELEASES.note(str(module.torch.__version__))
    if note:
        book.say(note)
    original_init, original_next, original_iter = base.__init__, base.__next__, loader.__iter__
    original_fetcher, original_loader_init = kind.create_fetcher, loader.__init__

    @functools.wraps(original_loader_init)
    def written(self: Any, *arguments: Any, **named: Any) -> None:
        self._penstock_place = user_place()
        original_loader_init(self, *arguments, **named)

    @functools.wraps(original_iter)
    def opened(self: Any) -> Any:
        began = book.now()
        iterator = original_iter(self)
        iterator._penstock_opening_s = book.now() - began
        return iterator

    @functools.wraps(original_init)
    def made(self: Any, loader: Any) -> None:
        self._penstock_recording = book.safely(lambda: recording_of(loader, book))
        original_init(self, loader)

    @functools.wraps(original_next)
    def asked(self: Any) -> Any:
        opening_s, self._penstock_opening_s = getattr(self, "_penstock_opening_s", 0.0), 0.0
        return book.ask(self._penstock_recording, lambda: original_next(self), opening_s)

    @functools.wraps(original_fetcher)
    def create_fetcher(kind_: Any, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: Any) -> Any:
        fetches = book.fetches.setdefault(id(dataset), Fetches(label_of_dataset(dataset), id(dataset)))
        collate = timed_collate(collate_fn, fetches)
        fetcher = original_fetcher(kind_, dataset, auto_collation, collate, drop_last)
        if hasattr(fetcher, "dataset_iter"):
            fetcher.dataset_iter = TimedIterator(fetcher.dataset_iter, fetches)
        else:
            fetcher.dataset = TimedDataset(dataset, fetches)
        return fetcher

    loader.__init__, loader.__iter__ = written, opened
    base.__init__, base.__next__ = made, asked
    kind.create_fetcher = staticmethod(create_fetcher)


def patch_worker(module: Any, book: Book, directory: str | None) -> None:
    """Let each worker leave what it noted."""
    RELEASES.require(module, "_worker_loop")
    if directory is not None:
        module._worker_loop = noting_worker(module._worker_loop, lambda: _worker_id(module), book, directory)


def _worker_id(module: Any) -> str:
    info = getattr(module, "_worker_info", None)
    return "" if info is None else str(info.id)


def recording_of(loader: Any, book: Book) -> Recording:
    """The recording of a DataLoader, with its settings."""
    place = getattr(loader, "_penstock_place", "")
    recording, dataset = book.recording(loader, "torch", type(loader).__name__, place), loader.dataset
    recording.dataset_ids[id(dataset)] = None
    if recording.stages:
        return recording
    recording.dataset = label = label_of_dataset(dataset)
    settings: dict[str, Value] = {}
    for name in _SETTINGS:
        value = getattr(loader, name, None)
        if isinstance(value, str | int | float | bool):
            settings[name] = value
    settings["shuffle"] = type(getattr(loader, "sampler", None)).__name__ == "RandomSampler"
    settings["iterable"] = _is_iterable(loader)
    settings["dataset"] = label
    recording.settings = settings
    workers = int(getattr(loader, "num_workers", 0))
    recording.stages = (
        StageTrace(
            id="loader", kind="loader", label=recording.loader, workers=max(1, workers), said=True,
            executor="processes" if workers else "inline",
            reason=f"num_workers={workers}",
        ),
    )  # fmt: skip
    facts: dict[str, Value] = (
        {
            name: value
            for name, value in vars(dataset).items()
            if name.endswith("buffer_size") and isinstance(value, int) and not isinstance(value, bool)
        }
        if hasattr(dataset, "__dict__")
        else {}
    )
    cardinality = _length(dataset)
    verb = "shuffle" if facts else "dataset"
    if facts and "buffer_size" not in facts:
        facts["buffer_size"] = next(iter(facts.values()))
    recording.nodes = (
        NodeTrace(id="batch", verb="batch", label=recording.loader, inputs=("dataset",), cardinality=_length(loader),
                  facts={"batch_size": settings.get("batch_size")}),
        NodeTrace(id="dataset", verb=verb, label=label, cardinality=cardinality, facts=facts,
                  draws=settings["shuffle"] is True),
    )  # fmt: skip
    return recording


def label_of_dataset(dataset: Any) -> str:
    """`Photos.__getitem__ at train.py:12`: the user's own method, not one that was inherited from a library."""
    kind = type(dataset)
    named: dict[str, Any] = {name: getattr(kind, name, None) for name in ("__getitems__", "__getitem__", "__iter__")}
    written = {name: function for name, function in named.items() if hasattr(function, "__code__")}
    users = (name for name, function in written.items() if is_users(function.__code__))
    name = next(users, next(iter(written), None))
    return kind.__name__ if name is None else label_of(written[name], f"{kind.__name__}.{name}")


def _is_iterable(loader: Any) -> bool:
    return getattr(loader, "_dataset_kind", 0) == 1


def _length(value: Any) -> int:
    try:
        return len(value)
    except TypeError:
        return -2


def timed_collate(collate: Any, fetches: Fetches) -> Any:
    """`collate_fn`, its seconds added up."""

    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return collate(*arguments)
        finally:
            fetches.collate_s += time.perf_counter() - began

    return timed


class TimedDataset:
    """A map-style dataset in the fetcher's hands: each element's seconds are noted, all else is the dataset's."""

    def __init__(self, dataset: Any, fetches: Fetches) -> None:
        self._dataset = dataset
        self._fetches = fetches

    def __getitem__(self, index: Any) -> Any:
        began, cpu = time.perf_counter(), time.thread_time()
        element = self._dataset[index]
        self._fetches.made.add(index, time.perf_counter() - began)
        self._fetches.made.cpu_s += time.thread_time() - cpu
        return element

    def _penstock_getitems(self, indices: Any) -> Any:
        began, cpu = time.perf_counter(), time.thread_time()
        elements = self._dataset.__getitems__(indices)
        spent, made = time.perf_counter() - began, self._fetches.made
        for index in indices:
            made.add(index, spent / max(1, len(indices)))
        made.cpu_s += time.thread_time() - cpu
        return elements

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._dataset, name)
        return self._penstock_getitems if name == "__getitems__" and found else found


class TimedIterator(Iterator[Any]):
    """The iterator of an iterable-style dataset, each element's seconds noted."""

    def __init__(self, iterator: Iterator[Any], fetches: Fetches) -> None:
        self._iterator = iterator
        self._made = fetches.made

    def __next__(self) -> Any:
        began, cpu = time.perf_counter(), time.thread_time()
        element = next(self._iterator)
        self._made.add(self._made.elements, time.perf_counter() - began)
        self._made.cpu_s += time.thread_time() - cpu
        return element

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)
