"""Clock readings from a training run: when each batch was asked for and got, when each step was done."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from penstock.adapters.feed import Batches, Feed
from penstock.cli.demo.pace import Fetch


class Watch:
    """Collects the readings of one run. `on_step(count)` hears of every step that is done, from any thread."""

    def __init__(self, on_step: Callable[[int], None], now: Callable[[], float] = perf_counter) -> None:
        self.fetches: list[Fetch] = []
        self._done_s: list[float] = []
        self._on_step = on_step
        self._now = now

    @property
    def done_s(self) -> list[float]:
        return sorted(self._done_s)  # callbacks of Keras run in a pool on JAX and PyTorch, so not always in order

    def fetch(self, get: Callable[[], Any]) -> Any:
        """What `get()` returns, timed."""
        asked_s = self._now()
        batch = get()
        self.fetches.append(Fetch(asked_s, self._now()))
        return batch

    def generator(self, batches: Iterator[Any]) -> Iterator[Any]:
        """`batches`, endless ones, each timed; a generator, which is what Keras takes."""
        while True:
            yield self.fetch(batches.__next__)

    def step_done(self) -> None:
        self._done_s.append(self._now())
        self._on_step(len(self._done_s))


class WatchedFeed:
    """A feed whose batches are timed on their way, from the opening of an epoch on."""

    def __init__(self, feed: Feed, watch: Watch) -> None:
        self._feed = feed
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._feed, name)

    def open(self, epoch: int | None = None, start: int = 0) -> Batches:
        return _WatchedBatches(lambda: self._feed.open(epoch, start), self._watch)


class _WatchedBatches:
    def __init__(self, open_: Callable[[], Batches], watch: Watch) -> None:
        self._open = open_
        self._watch = watch
        self._batches: Batches | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._watch.fetch(self._next)

    def _next(self) -> Any:
        if self._batches is None:
            self._batches = self._open()
        return next(self._batches)

    def close(self) -> None:
        if self._batches is not None:
            self._batches.close()


def keras_callback(watch: Watch, profile: GraphProfile | None = None) -> Any:
    """A Keras callback that tells `watch` when the device has finished a step.

    Keras calls it once the step's metrics are there. It is safe to run beside training and says so: a callback that is
    not would make JAX wait for every step (12.7 -> 20.2 ms).
    """
    import keras

    class StepDone(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        async_safe = True

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            watch.step_done()
            if profile is not None:
                profile.step_done()

    return StepDone()


class GraphProfile:
    """How long TensorFlow's own graph waited for a dataset, which Python does not see: from TensorFlow's profiler.

    Begins after step `first` and ends with the `with` block, so that no profile goes on.
    """

    def __init__(self, first: int, now: Callable[[], float] = perf_counter) -> None:
        self.wait_share: float | None = None
        self._first = first
        self._now = now
        self._steps = 0
        self._started_s: float | None = None
        self._elapsed_s = 0.0
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-profile-")

    def __enter__(self) -> GraphProfile:
        return self

    def step_done(self) -> None:
        self._steps += 1
        if self._steps == self._first:
            self._start()

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self._stop()
        if failure is None and self._elapsed_s > 0:
            waited_s = _waited_s(self._folder.name)
            self.wait_share = None if waited_s is None else min(1.0, waited_s / self._elapsed_s)
        self._folder.cleanup()

    def _start(self) -> None:
        import tensorflow as tf

        profiler = tf.profiler.experimental
        options = profiler.ProfilerOptions(host_tracer_level=1, python_tracer_level=0, device_tracer_level=0)
        profiler.start(self._folder.name, options=options)
        self._started_s = self._now()

    def _stop(self) -> None:
        if self._started_s is None:
            return
        import tensorflow as tf

        self._elapsed_s = self._now() - self._started_s
        self._started_s = None
        tf.profiler.experimental.stop()


def _waited_s(folder: str) -> float | None:
    """Seconds inside `IteratorGetNext`, summed over the trace; None where it cannot be read."""
    try:
        from tensorflow.tsl.profiler.protobuf import xplane_pb2
    except ImportError:
        return None
    waited_ps = 0
    traces = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
    for trace in traces:
        space = xplane_pb2.XSpace()
        with open(trace, "rb") as file:
            space.ParseFromString(file.read())
        for plane in space.planes:
            names = {key: event.name for key, event in plane.event_metadata.items()}
            waited_ps += sum(
                event.duration_ps
                for line in plane.lines
                for event in line.events
                if names[event.metadata_id] == "IteratorGetNextOp::DoCompute"
            )
    return waited_ps / 1e12 if traces else None
