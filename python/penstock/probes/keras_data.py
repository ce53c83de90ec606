"""What somebody gave to Keras' `fit` as `x`, or what Keras made of it: the recording of it, with its settings."""

from __future__ import annotations

from typing import Any

from penstock.probes.book import Book
from penstock.probes.place import label_of
from penstock.probes.recording import Recording
from penstock.probes.tf_data import recording_of as recording_of_tf_data
from penstock.telemetry.trace import NodeTrace, StageTrace, Value


def recording_of_x(x: Any, book: Book, batch_size: int | None = None) -> Recording:
    """The recording of what `fit` was given."""
    if hasattr(x, "element_spec") and hasattr(x, "_inputs"):
        return recording_of_tf_data(x, book, "tf.data.Dataset in fit")
    name, settings, label = _described(x, batch_size)
    return _recording(x, book, name, settings, label)


def recording_of_adapter(adapter: Any, book: Book) -> Recording:
    """The recording of a data adapter, as Keras makes one of arrays, generators and PyDatasets."""
    inner = getattr(adapter, "py_dataset", None)
    if inner is None:
        inner = getattr(adapter, "generator", None)
    name, settings, label = _described(adapter if inner is None else inner, getattr(adapter, "batch_size", None))
    return _recording(adapter, book, name, settings, label)


def _recording(owner: Any, book: Book, name: str, settings: dict[str, Value], label: str) -> Recording:
    try:
        recording = book.recording(owner, "keras", f"{name} in fit")
    except TypeError:  # arrays and generators cannot be referred to weakly: told apart by their line
        recording = book.recording(book, "keras", f"{name} in fit")
    if recording.stages:
        return recording
    recording.settings = settings
    workers = settings.get("workers")
    many = workers if isinstance(workers, int) and workers > 0 else 0
    executor = "processes" if settings.get("use_multiprocessing") else "threads" if many else "inline"
    recording.stages = (
        StageTrace(
            id="loader", kind="loader", label=recording.loader, workers=max(1, many), said=True, executor=executor
        ),
    )
    facts: dict[str, Value] = {"batch_size": settings["batch_size"]} if "batch_size" in settings else {}
    recording.nodes = (NodeTrace(id="dataset", verb="dataset", label=label, facts=facts),)
    return recording


def _described(x: Any, batch_size: Any) -> tuple[str, dict[str, Value], str]:
    """A name, the settings, and the label of the function that makes batches."""
    settings: dict[str, Value] = {}
    for name in ("workers", "use_multiprocessing", "max_queue_size"):
        value = getattr(x, name, None)
        if isinstance(value, bool | int):
            settings[name] = value
    if settings:
        name = type(x).__name__
        return name, settings, label_of(getattr(type(x), "__getitem__", x), f"{name}.__getitem__")
    code = getattr(x, "gi_code", None)
    if code is not None or "enerator" in type(x).__name__:
        return "generator", {"workers": 0, "generator": True}, getattr(code, "co_qualname", "generator")
    if isinstance(batch_size, int):
        settings["batch_size"] = batch_size
    return "arrays", settings, "arrays"
