"""The command: find the loader, take from it under a progress bar, and say what that came to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from penstock.cli.bench.drive import Figures, Told, drive
from penstock.cli.bench.target import Target, target_of
from penstock.machine.budget import measure_budget
from penstock.model.limits import Limit, Limits, limits
from penstock.units import format_bytes, format_seconds


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. batch_size, image_size: of a folder of images."""

    target: str
    seconds: float = 10.0
    batch_size: int = 64
    image_size: int = 224
    as_json: bool = False


def run_bench(request: Request, console: Console) -> None:
    """Measure and print. Raises: PenstockError: there is nothing to measure, or it fails."""
    with redirect_stdout(sys.stderr if request.as_json else sys.stdout):  # what the script prints
        target = target_of(request.target, request.batch_size, request.image_size)
        with _progress(request.seconds, Console(stderr=True)) as told:
            figures = drive(target.loader, request.seconds, told)
    found = None if figures.trace is None else limits(figures.trace)
    if request.as_json:
        console.print_json(json.dumps(as_json(target, figures, found)), indent=1, highlight=False)
        return
    table = Table.grid(padding=(0, 2))
    for name, value in lines(target, figures, found):
        table.add_row(f"[bold]{escape(name)}[/]", escape(value))
    console.print(table)


def lines(target: Target, figures: Figures, found: Limits | None) -> Iterator[tuple[str, str]]:
    """(name, value) of each line for a person."""
    yield "loader", f"{target.name} ({target.what})" if target.what else target.name
    rate = f"{figures.batches_per_s:,.1f} batches/s"
    if figures.elements_per_s is not None:
        rate = f"{figures.elements_per_s:,.1f} elements/s, {rate}"
    yield "throughput", rate
    counted = f"{figures.batches:,} batches" if figures.elements is None else f"{figures.elements:,} elements"
    epochs = f", {figures.epochs} epochs begun" if figures.epochs > 1 else ""
    yield "delivered", f"{counted} in {format_seconds(figures.seconds)}{epochs}"
    yield "first batch", format_seconds(figures.first_s)
    per = "batch" if figures.elements is None else "element"
    cores = f"{figures.cores:.1f} of {measure_budget().cpus} cores"
    yield "CPU", f"{format_seconds(figures.cpu_s_per_element)} per {per} ({cores})"
    peak, before = format_bytes(figures.rss_peak_bytes), format_bytes(figures.rss_before_bytes)
    yield "memory", f"{peak} at most, {before} before"
    if found is None:
        yield "limits", "known of Penstock's own pipelines only"
    elif found.closeness > MOST_CLOSENESS:
        yield "limits", "its epochs are too short to say"
    elif found.binding is not None:
        yield "limit", f"{_told(found.binding)}; it runs at {found.closeness:.0%} of that"
        if found.binding.blame:
            yield "to blame", f"{found.binding.blame}: {found.binding.share:.0%} of it"
        if found.runner_up is not None:
            yield "next limit", _told(found.runner_up)


def _told(bound: Limit) -> str:
    return f"{NAMES[bound.resource]}: {bound.elements_per_s:,.1f} elements/s, as {bound.why}"


MOST_CLOSENESS = 1.3
"""A run that is so much above its bound was too short to measure one: most of it is the filling of buffers."""

NAMES = {
    "cpu": "CPU", "gil": "GIL", "storage": "storage", "memory": "memory bandwidth", "host_to_device": "host to device",
    "trainer": "what takes the batches", "stage": "one stage's workers", "threads": "worker threads",
    "no_overlap": "nothing works ahead",
}  # fmt: skip


def as_json(target: Target, figures: Figures, found: Limits | None) -> dict[str, Any]:
    """The figures by name; seconds, bytes, and elements per second."""
    told = asdict(figures)
    del told["trace"]
    return {
        "loader": target.name,
        "what": target.what,
        **told,
        "cpu_s_per_element": figures.cpu_s_per_element if figures.elements is not None else None,
        "limits": None
        if found is None
        else {"closeness": found.closeness, "blame": found.blame, "bounds": [asdict(bound) for bound in found.bounds]},
    }


@contextmanager
def _progress(seconds: float, console: Console) -> Iterator[Told]:
    """A bar on a terminal, nothing elsewhere; gone when it is done."""
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("waiting for the first batch", total=seconds)

        def told(elapsed_s: float, batches: int, elements: int | None) -> None:
            what = (
                f"{batches / elapsed_s:,.1f} batches/s"
                if elements is None
                else f"{elements / elapsed_s:,.0f} elements/s"
            )
            progress.update(task, completed=min(elapsed_s, seconds), description=what)

        yield told
