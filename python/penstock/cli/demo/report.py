"""The demo on the terminal: progress while it runs, the table and the sentence at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from penstock.cli.demo.job import WARM_UP_STEPS
from penstock.cli.demo.outcome import Outcome
from penstock.cli.demo.verdict import verdict


@contextmanager
def progress(
    console: Console, name: str, total: int, unit: str, *, per_step: int = 1, warm_up: int = 0
) -> Iterator[Callable[[int], None]]:
    """A bar with a rate, in `unit` per second after `warm_up` steps.

    Yields what to call with the number of steps done, from any thread.
    """
    columns = (
        TextColumn("[bold]{task.description:<17}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, refresh_per_second=4) as bar:
        task_id = bar.add_task(name, total=total, rate="")
        warm_s = perf_counter()

        def on_step(done: int) -> None:
            nonlocal warm_s
            now_s = perf_counter()
            if done <= warm_up:
                warm_s = now_s
                bar.update(task_id, completed=done)
            else:
                per_s = (done - warm_up) * per_step / max(now_s - warm_s, 1e-9)
                bar.update(task_id, completed=done, rate=f"{per_s:,.0f} {unit}/s")

        yield on_step


def show(console: Console, outcomes: Sequence[Outcome], title: str) -> None:
    """Print the table, how its figures were taken, and the verdict."""
    emulated = any(outcome.au is not None for outcome in outcomes)
    table = Table("feed")
    for heading in ("images/s", "s per step", "input wait", "AU" if emulated else "val. accuracy"):
        table.add_column(heading, justify="right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(
            outcome.name,
            f"{outcome.images_per_s:,.0f}",
            f"{outcome.step_s:.4f}",
            _percent(outcome.wait_share),
            _percent(outcome.au if emulated else outcome.accuracy),
        )
    console.print(f"\n[bold]{title}[/]", highlight=False)
    console.print(table)
    console.print(_METHOD_EMULATED if emulated else _METHOD, style="dim", highlight=False)
    console.print(verdict(outcomes), style="bold", highlight=False)


_METHOD = (
    f"Rates leave out the first {WARM_UP_STEPS} steps (start, compilation) and the last third, over which the input "
    "wait is measured: the share of a step in which the device had nothing left to do and the next batch was not there."
)
_METHOD_EMULATED = (
    f"Each run without its first {WARM_UP_STEPS} steps. Input wait: share of a step in which the accelerator waited "
    "for a batch. AU: nominal compute time over wall time."
)


def _percent(share: float | None) -> str:
    return "not measured" if share is None else f"{share:.0%}"
