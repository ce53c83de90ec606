"""The command: find out what it is, look at it, verify it if asked to, and say so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.cli.inspect.formats import found_at
from penstock.cli.inspect.look import Look, look_at, text_of
from penstock.cli.inspect.page import write_page
from penstock.errors import DecodeError, PenstockError
from penstock.formats.stored.npy import unwritable


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. html: where to write a page. verify: read and compare every byte."""

    path: Path
    samples: int = 3
    html: Path | None = None
    verify: bool = False


def run_inspect(request: Request, console: Console) -> None:
    """Print what lies at a path. Raises: PenstockError: nothing, nothing known, or damaged."""
    found = found_at(request.path)
    table = Table.grid(padding=(0, 2))
    for name, value in (("format", found.format), *found.facts):
        table.add_row(f"[bold]{escape(name)}[/]", escape(value))
    console.print(table)
    look, broken = Look(0, (), ()), None
    try:
        look = look_at(found.dataset, request.samples, found.show)
    except PenstockError as error:
        if not request.verify:
            raise
        broken = str(error)  # told with all else that is wrong
    _show(look, console)
    verdict = None
    if request.verify:
        verdict = found.verify() or ([] if broken is None else [broken])
        console.print(f"verified: {escape(found.checks)}: {'[bold red]wrong[/]' if verdict else '[green]right[/]'}")
        for line in verdict:
            console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
    if request.html is not None:
        try:
            write_page(request.html, request.path, found, look, verdict)
        except OSError as error:
            raise unwritable(str(request.html), error) from error
        console.print(f"page: {escape(str(request.html))}")
    if verdict:
        raise DecodeError("it is damaged", got=f"{len(verdict)} faults", where=str(request.path))


def _show(look: Look, console: Console) -> None:
    if look.features:
        table = Table("feature", "of", "bytes", "values", title=f"first {look.count} elements", title_justify="left")
        for feature in look.features:
            table.add_row(*map(escape, (feature.name, str(feature.spec), feature.size_text, feature.range_text)))
        console.print(table)
    for number, sample in enumerate(look.samples):
        lines = Table.grid(padding=(0, 2))
        for name, value in sample:
            lines.add_row("", escape(name), escape(text_of(value)))
        console.print(f"[bold]element {number}[/]")
        console.print(lines)
