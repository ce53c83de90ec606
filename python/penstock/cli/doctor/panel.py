"""The live panel: a few lines at the bottom of the terminal, below the script's own output.

The script writes to the terminal itself, unchanged and unseen by us. So the panel takes the lowest lines out of the
scrolling region, as package managers do for their progress, and is redrawn there with the cursor put back in one write.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.text import Text

from penstock.machine.readings import HostReading
from penstock.units import format_bytes, format_seconds

LINES = 5
_LEAST_ROWS = 15
_STALE_S = 5.0


class Panel:
    """Open it with `with`; `show` draws. `file` is the terminal."""

    def __init__(self, file: TextIO, size: Callable[[], os.terminal_size] = shutil.get_terminal_size) -> None:
        self._file = file
        self._size = size
        self._rows = 0

    def __enter__(self) -> Panel:
        self._reserve()
        return self

    def __exit__(self, *_: object) -> None:
        rows = self._size().lines
        self._write(f"\x1b7\x1b[r\x1b[{max(1, rows - LINES + 1)};1H\x1b[J\x1b8")

    def show(self, lines: RenderableType) -> None:
        """Draw these lines; what is more than fits is cut."""
        size = self._size()
        if size.lines < _LEAST_ROWS:
            return
        if size.lines != self._rows:
            self._reserve()
        drawn = rendered(lines, size.columns).split("\n")[:LINES]
        top = size.lines - LINES + 1
        body = "".join(f"\x1b[{top + n};1H\x1b[2K{line}" for n, line in enumerate(drawn))
        self._write(f"\x1b7{body}\x1b8")

    def _reserve(self) -> None:
        self._rows = rows = self._size().lines
        if rows >= _LEAST_ROWS:
            self._write("\n" * LINES + f"\x1b[{LINES}A\x1b7\x1b[1;{rows - LINES}r\x1b8")

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


def rendered(lines: RenderableType, columns: int) -> str:
    """What a terminal of so many columns is sent for them."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=columns, height=LINES, legacy_windows=False)
    console.print(lines, end="")
    return text.getvalue()


def is_shown(file: TextIO) -> bool:
    """Whether there is a terminal that a panel can be drawn on."""
    return file.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def statuses(directory: Path, now: float) -> list[dict[str, Any]]:
    """What each training process said of itself within the last seconds."""
    found: list[dict[str, Any]] = []
    for path in sorted(directory.glob("status-*.json")):
        try:
            status = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if now - status["at"] <= _STALE_S:
            found.append(status)
    return found


def lines_of(reading: HostReading | None, said: list[dict[str, Any]], seconds: float) -> RenderableType:
    """The panel's content."""
    first = said[0] if said else None
    if first is None:
        trainer = Text("no batch was asked for yet", style="dim")
    else:
        rate = first["rows_each"] / first["step_s"] if first["step_s"] else 0.0
        share = first["waiting"]
        trainer = Text.assemble(
            ("step ", "dim"), format_seconds(first["step_s"]), ("   waiting for input ", "dim"),
            (f"{share:.0%}".replace("%", " %"), "bold red" if share > 0.3 else "yellow" if share > 0.1 else "green"),
            ("   ", ""), f"{rate:,.0f} elements/s" if rate else f"{1 / first['step_s']:,.1f} batches/s",
            (f"   {first['steps']:,} steps", "dim"), (f"   {first['loader']}", "dim"),
        )  # fmt: skip
        if len(said) > 1:
            trainer.append(f"   and in {len(said) - 1} more", style="dim")
    trainer.no_wrap, trainer.overflow = True, "ellipsis"
    title = Text.assemble(
        ("── penstock doctor ", "bold"), f"{seconds:,.0f} s ", "─" * 300, no_wrap=True, overflow="crop"
    )
    return Group(title, trainer, *_host_lines(reading))


def _host_lines(reading: HostReading | None) -> list[Text]:
    if reading is None:
        return []
    cores = " ".join(f"{share:4.0%}" for share in reading.cores[:32])
    more = f" … {len(reading.cores)} cores" if len(reading.cores) > 32 else ""
    memory = f"   memory {format_bytes(reading.rss_bytes)}"
    lines = [Text.assemble(("CPU ", "dim"), cores + more, (memory, ""), no_wrap=True, overflow="ellipsis")]
    for one in reading.accelerators[:1]:
        parts = [
            None if one.utilisation is None else f"{one.utilisation:.0%} busy",
            None if one.memory_used_bytes is None else format_bytes(one.memory_used_bytes),
            None if one.power_w is None else f"{one.power_w:.0f} W",
            None if one.temperature_c is None else f"{one.temperature_c:.0f} °C",
        ]
        more = f"   and {len(reading.accelerators) - 1} more" if len(reading.accelerators) > 1 else ""
        text = "   ".join(part for part in parts if part is not None)
        lines.append(Text.assemble((f"{one.name} ", "dim"), text, (more, "dim"), no_wrap=True, overflow="ellipsis"))
    return lines


class Live:
    """The panel, fed from the script's processes and from the machine, drawn twice a second."""

    def __init__(self, panel: Panel, directory: Path) -> None:
        self._panel = panel
        self._directory = directory
        self._began = time.monotonic()

    def draw(self, reading: HostReading) -> None:
        """Draw the latest."""
        self._panel.show(lines_of(reading, statuses(self._directory, time.time()), time.monotonic() - self._began))
