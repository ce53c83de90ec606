"""Loaders of frameworks, by fakes of the parts that the probes take hold of, and compilations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from penstock.probes.book import Book
from penstock.probes.compiling import listen_to_dynamo, listen_to_jax, time_traces
from penstock.probes.grain_iterators import patch_datasets
from penstock.probes.recording import Recording
from penstock.probes.torch_loader import TimedDataset, TimedIterator, patch_loader, patch_worker
from penstock.probes.watch import Watch
from penstock.probes.watched import patch_watch
from penstock.probes.worker import worker_file
from tests.unit.probes.test_watch import Time, batches


class Owner:
    """Something that a loader is."""


def noted(book: Book, given: list[Any], time: Time) -> None:
    recording = book.recording(owner := Owner(), "torch", "Loader")
    for batch in given:
        book.ask(recording, lambda batch=batch: batch)
        time.at += 1.0
    del owner


@pytest.mark.parametrize("framework", ["jax", "tensorflow", "torch"])
def test_what_a_new_shape_costs_is_told(framework: str) -> None:
    time = Time()
    book = Book(now=time)
    heard: list[Callable[..., None]] = []
    handler = SimpleNamespace(register_start_callback=heard.append, register_end_callback=heard.append)

    def compile_for(seconds: float) -> None:
        if framework == "jax":
            heard[0]("/jax/core/compile/backend_compile_duration", seconds, fun_name="step")
            heard[0]("/jax/other", 100.0)
        elif framework == "torch":
            heard[0]("arguments")
            time.at += seconds
            heard[1]("arguments")
        else:
            module._create_concrete_function(seconds)

    def create(seconds: float) -> None:
        time.at += seconds

    module = SimpleNamespace(
        register_event_duration_secs_listener=heard.append, _create_concrete_function=create, callback_handler=handler
    )
    {"jax": listen_to_jax, "tensorflow": time_traces, "torch": listen_to_dynamo}[framework](module, book)
    recording = book.recording(owner := Owner(), "iterable", "Loader")
    recording.framework = framework
    for batch in batches(4, 4, 3):
        book.ask(recording, lambda batch=batch: batch)
        if batch[0].shape[0] == 3:
            compile_for(0.5)
            compile_for(0.25)
    (retrace,) = book.entries()[0].trace.retraces
    assert (retrace.step, retrace.cost_s) == (2, 0.75)
    del owner


def test_new_shapes_cost_pytorch_nothing_where_nothing_is_compiled() -> None:
    time = Time()
    book = Book(now=time)
    noted(book, batches(4, 3, 2, 1), time)
    book.recordings[0].framework = "torch"
    assert book.entries()[0].trace.retraces == ()


def test_grain_is_noted_where_the_users_loop_asks() -> None:
    class DatasetIterator:
        def __iter__(self) -> Any:
            return self

        def get_state(self) -> None: ...

    time = Time()
    book = Book(now=time)
    patch_datasets(SimpleNamespace(DatasetIterator=DatasetIterator), book)

    class Inner(DatasetIterator):
        def __next__(self) -> Any:
            time.at += 0.25
            return np.zeros(4)

    class Outer(DatasetIterator):
        def __init__(self) -> None:
            self.inner = Inner()

        def __next__(self) -> Any:
            return next(self.inner)

    outer = Outer()
    for _ in range(5):
        next(outer)
        time.at += 0.25
    (entry,) = book.entries()
    assert (entry.trace.source, entry.trace.consumer.steps, entry.trace.consumer.wait_s) == ("grain", 5, 1.25)


def test_a_loader_made_anew_each_epoch_is_one() -> None:
    time = Time()
    book = Book(now=time)
    for _ in range(3):
        noted(book, batches(4), time)
    assert [len(recording.tape) for recording in book.recordings] == [3]


def test_a_fork_starts_with_nothing() -> None:
    time = Time()
    book = Book(now=time)
    noted(book, batches(4), time)
    book.clear()
    assert book.entries() == []


def test_a_loader_that_no_probe_understands_still_works() -> None:
    book = Book()

    def fails() -> Any:
        raise KeyError("odd")

    assert book.safely(fails) is None
    assert book.ask(None, lambda: "batch") == "batch"
    assert "odd" in book.notes[0]


# ---- penstock.watch in a script under the doctor


def test_a_watched_loader_is_noted_once_with_the_scripts_own_done() -> None:
    time = Time()
    book = Book(now=time)

    class Patched(Watch):
        pass

    patch_watch(Patched, book)
    torch = FakeTorch()
    patch_loader(torch, book)
    for loader in (torch.DataLoader(Rows()), [np.zeros(4), np.zeros(4)]):
        watched = Patched(loader, Recording(source_of_test(loader), "loader", time))
        for _ in iter(watched):
            time.at += 1.0
            watched.done(0.5)
    found = [(one.trace.source, one.trace.consumer.steps, one.trace.consumer.method) for one in book.entries()]
    assert sorted(found) == [("iterable", 2, "device done"), ("torch", 2, "device done")]


def source_of_test(loader: Any) -> Any:
    return "iterable" if isinstance(loader, list) else "torch"


# ---- PyTorch


class FakeTorch:
    """As much of torch.utils.data as its loader's probe takes hold of."""

    def __init__(self) -> None:
        class Fetcher:
            def __init__(self, dataset: Any, collate: Any) -> None:
                self.dataset, self.collate_fn = dataset, collate

            def fetch(self, indices: list[int]) -> Any:
                if hasattr(self.dataset, "__getitems__") and self.dataset.__getitems__:
                    return self.collate_fn(self.dataset.__getitems__(indices))
                return self.collate_fn([self.dataset[i] for i in indices])

        class Kind:
            @staticmethod
            def create_fetcher(kind: Any, dataset: Any, auto: Any, collate: Any, drop_last: Any) -> Any:
                return Fetcher(dataset, collate)

        class Base:
            def __init__(self, loader: Any) -> None:
                self.at, self.loader = 0, loader
                self.fetcher = Kind.create_fetcher(0, loader.dataset, True, np.stack, False)

            def __iter__(self) -> Any:
                return self

            def __next__(self) -> Any:
                if self.at >= len(self.loader.dataset):
                    raise StopIteration
                self.at += 4
                return self.fetcher.fetch(list(range(self.at - 4, self.at)))

        class DataLoader:
            num_workers, batch_size, pin_memory, prefetch_factor = 0, 4, False, None

            def __init__(self, dataset: Any) -> None:
                self.dataset = dataset

            def __iter__(self) -> Any:
                return Base(self)

        self.DataLoader, self._BaseDataLoaderIter, self._DatasetKind = DataLoader, Base, Kind
        self.torch = SimpleNamespace(__version__="2.13.0+cpu")


class Rows:
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return np.full(3, index)


class RowsAtOnce(Rows):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[i] for i in indices]


@pytest.mark.parametrize("dataset", [Rows(), RowsAtOnce()])
def test_a_data_loader_tells_requests_settings_and_elements(dataset: Any) -> None:
    book = Book()
    torch = FakeTorch()
    patch_loader(torch, book)
    loader = torch.DataLoader(dataset)
    seen: list[Any] = []
    for _ in range(2):
        iterator = iter(loader)
        while (batch := next(iterator, None)) is not None:
            seen.append(batch)
    assert [batch[:, 0].tolist() for batch in seen] == [[0, 1, 2, 3], [4, 5, 6, 7]] * 2
    (entry,) = book.entries()
    trace = entry.trace
    assert (trace.source, trace.consumer.steps, trace.consumer.rows) == ("torch", 4, 16)
    assert (trace.settings["num_workers"], trace.settings["batch_size"]) == (0, 4)
    assert trace.stages[0].executor == "inline"
    assert entry.fetches is not None
    assert entry.fetches.made.elements == 16
    assert entry.dataset.startswith(type(dataset).__name__ + ".__getitem")


def test_a_stand_in_for_a_dataset_is_the_dataset_but_for_its_elements() -> None:
    book = Book()
    from penstock.probes.fetching import Fetches

    fetches = Fetches("Rows")
    stand_in = TimedDataset(Rows(), fetches)
    assert not hasattr(stand_in, "__getitems__")
    assert stand_in[3].tolist() == [3, 3, 3]
    passing: Iterator[Any] = TimedIterator(iter([1, 2]), fetches)
    assert list(passing) == [1, 2]
    assert fetches.made.elements == 3
    assert book.entries() == []


def test_a_worker_leaves_what_it_noted(tmp_path: Path) -> None:
    import os

    from penstock.probes.fetching import Fetches

    book = Book()

    def loop(answer: int) -> int:
        book.fetches[1] = Fetches("Rows", 1)
        book.fetches[1].made.add(0, 0.5)
        return answer

    module = SimpleNamespace(_worker_loop=loop, _worker_info=SimpleNamespace(id=3))
    patch_worker(module, book, str(tmp_path))
    assert module._worker_loop(42) == 42
    found = Fetches.load(worker_file(str(tmp_path), os.getppid(), os.getpid()))
    assert (found.worker, found.dataset, found.made.elements) == ("3", "Rows", 1)
