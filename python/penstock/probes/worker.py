"""What a worker process of somebody's loader notes, and the file it leaves for whoever reads the traces."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.probes.book import Book
from penstock.probes.fetching import Fetches, seen_of
from penstock.probes.stacks import Samples, StackSampler

_SAVE_EVERY_S = 1.0


def worker_file(directory: str, trainer: int, worker: int) -> Path:
    """Where process `worker` leaves what it noted for process `trainer`."""
    return Path(directory) / f"worker-{trainer}-{worker}.json"


def noting_worker(loop: Callable[..., Any], worker_id: Callable[[], str], book: Book, directory: str) -> Any:
    """A worker's main function that also looks at its own stacks, and saves each second and at its end."""

    @functools.wraps(loop)
    def noting(*arguments: Any, **named: Any) -> Any:
        samples = Samples()
        saved_at = time.monotonic()
        path = worker_file(directory, os.getppid(), os.getpid())

        def save() -> None:
            fetches = next(iter(book.fetches.values()), None)
            if fetches is None or not fetches.made.elements:
                return
            found = Fetches(
                fetches.dataset, fetches.dataset_id, worker_id(), fetches.made, fetches.collate_s,
                seen_of(samples.spots), samples.rounds, samples.interval_s, sampler.cpu_s,
            )  # fmt: skip
            try:
                found.save(path)
            except OSError:  # the folder is gone: nobody waits for it any more
                sampler.stop()

        def looked() -> None:
            nonlocal saved_at
            if time.monotonic() - saved_at >= _SAVE_EVERY_S:
                saved_at = time.monotonic()
                save()

        book.fetches.clear()
        book.began_worker()
        sampler = StackSampler(lambda thread: samples, lambda: (samples,), looked)
        sampler.start()
        try:
            return loop(*arguments, **named)
        finally:
            sampler.stop()
            save()

    return noting
