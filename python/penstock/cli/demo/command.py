"""The demo from its request to its table."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from penstock.cli.demo.backend import choose_backend, load_keras, load_tensorflow, require_installed
from penstock.cli.demo.corpus import corpus_path, is_complete, make_corpus
from penstock.cli.demo.job import WARM_UP_STEPS, Job
from penstock.cli.demo.outcome import Outcome
from penstock.cli.demo.photos import Photos, read_photos
from penstock.cli.demo.report import progress, show
from penstock.machine.cpu import cpu_budget

OnStep = Callable[[int], None]
_SHOWN = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. `step_s`: seconds per step of an emulated accelerator, in the place of the model."""

    data: Path | None = None
    backend: str | None = None
    epochs: int = 2
    batch_size: int = 64
    image_size: int = 128
    step_s: float | None = None
    samples: int = 3000
    work: Path | None = None


def run_demo(request: Request, console: Console) -> list[Outcome]:
    """Make or read the photographs, run each feed, show the table; what each run came to.

    Raises: PenstockError of the kind that fits: a folder without photographs, a backend that is not installed, a
    photograph that cannot be read.
    """
    backend = choose_backend(request.backend)
    require_installed("PIL", "pip install pillow")
    if request.step_s is None:
        require_installed("keras", "pip install keras")
    job = Job(_photos(request, console), request.epochs, request.batch_size, request.image_size)
    with console.status(f"importing {_SHOWN[backend]}"):
        runs = _training_runs(job, backend) if request.step_s is None else _emulations(job, backend, request.step_s)
    outcomes = []
    for name, run in runs:
        with progress(console, name, job.steps, "images", per_step=job.batch_size, warm_up=WARM_UP_STEPS) as on_step:
            outcomes.append(run(on_step))
    show(console, outcomes, _title(job, backend, request.step_s))
    return outcomes


def _photos(request: Request, console: Console) -> Photos:
    if request.data is not None:
        return read_photos(request.data)
    work = cache_directory() if request.work is None else request.work
    place = corpus_path(work, request.samples)
    if not is_complete(place):
        done = [0]

        def on_file() -> None:
            done[0] += 1
            on_step(done[0])

        with progress(console, "making files", request.samples, "files") as on_step:
            make_corpus(work, request.samples, on_file)
    console.print(f"photographs: {place}", highlight=False, soft_wrap=True)
    return read_photos(place)


def cache_directory() -> Path:
    """Where the photographs are kept between runs, by the XDG base directory specification."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and os.path.isabs(base) else Path.home() / ".cache") / "penstock"


def _training_runs(job: Job, backend: str) -> list[tuple[str, Callable[[OnStep], Outcome]]]:
    load_keras(backend)
    from penstock.cli.demo import train
    from penstock.cli.demo.feeds import engine, generator, tf_data

    runs = [(generator.NAME, train.train_on_generator), (tf_data.NAME, train.train_on_tf_data)]
    if backend != "tensorflow":
        runs.pop()
    runs.append((engine.NAME, train.train_on_penstock))
    return [(name, partial(run, job, backend)) for name, run in runs]


def _emulations(job: Job, backend: str, step_s: float) -> list[tuple[str, Callable[[OnStep], Outcome]]]:
    from penstock.cli.demo import emulate
    from penstock.cli.demo.feeds import engine, generator, tf_data

    runs = [(generator.NAME, emulate.emulate_on_generator), (engine.NAME, emulate.emulate_on_penstock)]
    if backend == "tensorflow":
        load_tensorflow()
        runs.insert(1, (tf_data.NAME, emulate.emulate_on_tf_data))
    return [(name, partial(run, job, step_s)) for name, run in runs]


def _title(job: Job, backend: str, step_s: float | None) -> str:
    consumer = f"Keras on {_SHOWN[backend]}" if step_s is None else f"an accelerator of {step_s * 1000:g} ms per step"
    return (
        f"{len(job.photos.training):,} photographs of {len(job.photos.class_names)} classes, {job.epochs} epochs, "
        f"batches of {job.batch_size} at {job.image_size} px, {consumer}, {cpu_budget()} CPUs"
    )
