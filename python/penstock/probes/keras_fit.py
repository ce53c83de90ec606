"""Keras' `fit` on its three backends.

On JAX and PyTorch the trainer takes batches from an iterator in Python: what Keras makes of arrays, generators and
PyDatasets is noted there; tf.data, a DataLoader, Grain and Penstock are noted by their own probes, beneath it. On
TensorFlow the request is inside the compiled step, so Python sees steps and a short profile sees the requests
(`penstock.probes.tf_steps`). On JAX a callback that Keras runs beside the training loop hears when each step is done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.probes.book import Book
from penstock.probes.keras_data import recording_of_adapter
from penstock.probes.tf_steps import GraphSteps
from penstock.probes.version import Releases

RELEASES = Releases("Keras", (3, 4), (3, 15))
_OWN_PROBES = ("TFDatasetAdapter", "TorchDataLoaderAdapter", "GrainDatasetAdapter", "PenstockDataAdapter")


def patches(book: Book) -> dict[str, Callable[[Any], None]]:
    """What to do to which module."""
    return {
        "keras.src.backend.jax.trainer": lambda module: patch_jax(module, book),
        "keras.src.backend.torch.trainer": lambda module: patch_iterators(module.TorchEpochIterator, book),
        "keras.src.backend.tensorflow.trainer": lambda module: patch_tensorflow(module, book),
    }


def patch_jax(module: Any, book: Book) -> None:
    """Note what the JAX trainer asks, and when its steps are done."""
    patch_iterators(module.JAXEpochIterator, book)
    RELEASES.require(module.JAXTrainer, "fit")

    def ahead() -> int:
        return int(module.jax.default_backend() != "cpu")  # Keras asks for the next batch before it starts this one

    _add_callback(module.JAXTrainer, lambda model, x: done_callback(book, ahead))


def patch_iterators(kind: Any, book: Book) -> None:
    """Note requests of every epoch iterator whose data no other probe sees."""
    RELEASES.require(kind, "_get_iterator")
    original = kind._get_iterator

    @functools.wraps(original)
    def noted(self: Any) -> Any:
        iterator = original(self)
        adapter = self.data_adapter
        if type(adapter).__name__ in _OWN_PROBES:
            return iterator
        recording = book.safely(lambda: recording_of_adapter(adapter, book))
        return iterator if recording is None else book.asked(recording, iter(iterator))

    kind._get_iterator = noted


def patch_tensorflow(module: Any, book: Book) -> None:
    """Note steps of the TensorFlow trainer, and profile some of them."""
    RELEASES.require(module.TensorFlowTrainer, "fit")
    _add_callback(module.TensorFlowTrainer, lambda model, x: steps_callback(x, book))


def _add_callback(kind: Any, make: Callable[[Any, Any], Any]) -> None:
    """Let `fit` run with one more callback, which changes nothing; a `CallbackList` is left as it is."""
    original = kind.fit

    @functools.wraps(original)
    def fit(self: Any, x: Any = None, *arguments: Any, **named: Any) -> Any:
        if len(arguments) >= _CALLBACKS_POSITION:  # by position: nobody does
            return original(self, x, *arguments, **named)
        callbacks = named.get("callbacks")
        if callbacks is None or isinstance(callbacks, list | tuple):
            ours = make(self, x)
            if ours is not None:
                named["callbacks"] = [*(callbacks or ()), ours]
        elif not hasattr(callbacks, "callbacks"):
            ours = make(self, x)
            if ours is not None:
                named["callbacks"] = [callbacks, ours]
        return original(self, x, *arguments, **named)

    kind.fit = fit


_CALLBACKS_POSITION = 5  # fit(x, y, batch_size, epochs, verbose, callbacks)


def done_callback(book: Book, ahead: Callable[[], int]) -> Any:
    """A callback that notes when each step of the loader asked last was done."""
    from keras.callbacks import Callback

    class Done(Callback):  # type: ignore[misc] # of a framework without types
        async_safe = True  # so that Keras calls it beside the loop, once the logs are there

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            recording = book.current
            if recording is not None:
                recording.tape.note_done(recording.tape.pass_began + batch + ahead(), book.now())

    return Done()


def steps_callback(x: Any, book: Book) -> Any:
    """A callback that notes each step of a fit whose requests Python does not see; None where it does."""
    from keras.callbacks import Callback

    if type(x).__name__ == "PenstockDataAdapter":
        return None
    found = book.safely(lambda: GraphSteps(x, book))
    if found is None:
        return None
    steps = found

    class Steps(Callback):  # type: ignore[misc] # of a framework without types
        # on_train_batch_end would make Keras fetch the logs of each step
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            steps.begin_pass()

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            steps.begin()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            steps.end_pass()

        def on_train_end(self, logs: Any = None) -> None:
            steps.finish()

    return Steps()
