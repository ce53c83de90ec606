"""One run: a fresh model trained and validated on one feed, measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.cli.demo.backend import fetches_ahead
from penstock.cli.demo.feeds import engine, generator, tf_data
from penstock.cli.demo.job import Job
from penstock.cli.demo.model import build_model
from penstock.cli.demo.outcome import Outcome
from penstock.cli.demo.pace import measure, starvation_s
from penstock.cli.demo.watch import GraphProfile, Watch, WatchedFeed, keras_callback
from penstock.errors import DecodeError, PenstockError


def train_on_generator(job: Job, backend: str, on_step: Callable[[int], None]) -> Outcome:
    watch, failures = Watch(on_step), list[PenstockError]()
    batches = _remembering(generator.training(job), failures)
    arguments = {"steps_per_epoch": job.steps_per_epoch, "epochs": job.epochs, "shuffle": False}
    with _plain_failures(generator.NAME, failures):
        if backend == "tensorflow":  # Keras wraps it in a tf.data.Dataset, which its compiled step reads
            model, share = _fit_in_graph(job, watch, batches, arguments)
        else:
            model, share = _fit(job, watch, watch.generator(batches), arguments), None
        held_out = _remembering(generator.validation(job), failures)
        accuracy = _evaluate(model, held_out, steps=job.validation_steps)
    return _outcome(generator.NAME, job, watch, share, accuracy)


def train_on_tf_data(job: Job, backend: str, on_step: Callable[[int], None]) -> Outcome:
    del backend  # always TensorFlow
    watch = Watch(on_step)
    with _plain_failures(tf_data.NAME, []):
        model, share = _fit_in_graph(job, watch, tf_data.training(job), {"epochs": job.epochs, "shuffle": False})
        accuracy = _evaluate(model, tf_data.validation(job))
    return _outcome(tf_data.NAME, job, watch, share, accuracy)


def train_on_penstock(job: Job, backend: str, on_step: Callable[[int], None]) -> Outcome:
    del backend  # the adapter knows
    watch = Watch(on_step)
    data = engine.training(job).to_keras()
    data.feed = WatchedFeed(data.feed, watch)
    model = _fit(job, watch, data, {"epochs": job.epochs})
    accuracy = _evaluate(model, engine.validation(job).to_keras())
    return _outcome(engine.NAME, job, watch, None, accuracy)


def _remembering(batches: Iterator[Any], failures: list[PenstockError]) -> Iterator[Any]:
    try:
        yield from batches
    except PenstockError as error:
        failures.append(error)
        raise


@contextmanager
def _plain_failures(name: str, failures: list[PenstockError]) -> Iterator[None]:
    """What TensorFlow makes of a broken photograph, as the error it was: it wraps those of a generator in its own."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        if failures:
            raise failures[0] from None
        if "tensorflow" not in type(error).__module__:
            raise
        raise DecodeError(f"{name} failed", got=str(getattr(error, "message", error)).splitlines()[0]) from error


def _fit(job: Job, watch: Watch, data: Any, arguments: dict[str, Any]) -> Any:
    model = build_model(job)
    model.fit(data, callbacks=[keras_callback(watch)], verbose=0, **arguments)
    return model


def _fit_in_graph(job: Job, watch: Watch, data: Any, arguments: dict[str, Any]) -> tuple[Any, float | None]:
    model = build_model(job)
    with GraphProfile(job.steps - job.wait_steps) as profile:
        model.fit(data, callbacks=[keras_callback(watch, profile)], verbose=0, **arguments)
    return model, profile.wait_share


def _evaluate(model: Any, data: Any, **arguments: Any) -> float:
    accuracy = float(model.evaluate(data, verbose=0, return_dict=True, **arguments)["accuracy"])
    return accuracy if math.isfinite(accuracy) else 0.0


def _outcome(name: str, job: Job, watch: Watch, wait_share: float | None, accuracy: float) -> Outcome:
    done_s = watch.done_s
    waited_s = starvation_s(watch.fetches, done_s, fetches_ahead()) if watch.fetches else None
    pace = measure(done_s, waited_s, job.batch_size, job.wait_steps)
    share = pace.wait_share if wait_share is None else wait_share
    return Outcome(name, pace.images_per_s, pace.step_s, share, accuracy=accuracy)
