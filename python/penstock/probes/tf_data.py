"""tf.data iterated in Python (`for batch in dataset`): what the trainer asks of it, and the pipeline as it was written.

The request is `OwnedIterator.__next__`. A dataset iterated inside a graph (`fit`, `tf.function`) is not seen by Python:
`penstock.probes.tf_profile` reads it from a short profile.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.probes.book import Book
from penstock.probes.place import user_place
from penstock.probes.recording import Recording, this_host
from penstock.probes.tf_graph import functions_of, nodes_of
from penstock.probes.tf_profile import Windows, windows
from penstock.probes.version import Releases
from penstock.telemetry.trace import StageTrace

RELEASES = Releases("TensorFlow", (2, 12), (2, 21))


def patches(book: Book) -> dict[str, Callable[[Any], None]]:
    """What to do to which module."""
    return {
        "tensorflow.python.data.ops.dataset_ops": patch_datasets,
        "tensorflow.python.data.ops.iterator_ops": lambda module: patch_iterators(module, book),
    }


def patch_datasets(module: Any) -> None:
    """Let each dataset know the user's line that made it. Cost: some 10 us, once for each verb that is written."""
    kind = module.DatasetV2
    RELEASES.require(kind, "__init__")
    original = kind.__init__

    @functools.wraps(original)
    def made(self: Any, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        self._penstock_place = user_place()

    kind.__init__ = made


def patch_iterators(module: Any, book: Book) -> None:
    """Note requests of every iterator that Python holds."""
    kind = module.OwnedIterator
    RELEASES.require(kind, "__next__", "_create_iterator")
    original_create, original_next = kind._create_iterator, kind.__next__

    @functools.wraps(original_create)
    def created(self: Any, dataset: Any) -> None:
        original_create(self, dataset)
        self._penstock_dataset = dataset

    @functools.wraps(original_next)
    def asked(self: Any) -> Any:
        dataset = getattr(self, "_penstock_dataset", None)
        if dataset is None or not module.context.executing_eagerly():
            return original_next(self)
        if not hasattr(self, "_penstock_recording"):
            self._penstock_recording = book.safely(lambda: recording_of(dataset, book))
        recording = self._penstock_recording
        if recording is not None and not book.is_asking():
            began = book.now()
            if window_of(recording, book).step():
                recording.tape.pause(began)  # the profiler's own time is nobody's
        return book.ask(recording, lambda: original_next(self))

    kind._create_iterator, kind.__next__ = created, asked


def window_of(recording: Recording, book: Book) -> Windows:
    """The profile of a recording's pipeline, which tells the seconds of its functions' ops."""
    found = recording.windows
    if found is None:
        found = recording.windows = windows(book.now, recording.say)
    return found


def recording_of(dataset: Any, book: Book, where: str = "") -> Recording:
    """The recording of a tf.data pipeline, with its nodes and their settings."""
    recording = book.recording(dataset, "tf.data", where or "tf.data.Dataset")
    if recording.stages:
        return recording
    recording.nodes, recording.settings = nodes_of(dataset)
    recording.functions = functions_of(dataset)
    calls = recording.settings.get("num_parallel_calls")
    said = calls if isinstance(calls, int) and calls > 0 else 0
    autotuned = calls == -1
    recording.stages = (
        StageTrace(
            id="loader", kind="loader", label=recording.loader, executor="threads", said=bool(said),
            workers=this_host().cpus if autotuned else max(1, said),
            reason="num_parallel_calls=AUTOTUNE" if autotuned else "",
        ),
    )  # fmt: skip
    return recording
