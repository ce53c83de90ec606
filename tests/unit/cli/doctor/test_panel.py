"""The live panel: what is written to the terminal, and what it says."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

from penstock.cli.doctor.panel import LINES, Live, Panel, is_shown, lines_of, rendered, statuses
from penstock.machine.readings import AcceleratorReading, HostReading

SIZE = os.terminal_size((100, 40))
STATUS = {
    "pid": 1, "loader": "DataLoader at train.py:9", "steps": 1200, "rows": 76800, "rows_each": 64.0, "step_s": 0.05,
    "waiting": 0.42, "at": 1000.0,
}  # fmt: skip
READING = HostReading(
    cores=(0.97, 0.25), rss_bytes=3 << 30,
    accelerators=(AcceleratorReading(index=0, name="H200", utilisation=0.61, power_w=350.0, temperature_c=55.0),),
)  # fmt: skip


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_the_panel_says_what_is_measured() -> None:
    text = plain(rendered(lines_of(READING, [STATUS, STATUS], 12.0), 160))
    for part in ("waiting for input 42 %", "1,280 elements/s", "DataLoader at train.py:9", "97%", "25%", "3.0 GiB",
                 "H200", "61% busy", "350 W", "55 °C", "and in 1 more"):  # fmt: skip
        assert part in text, part


def test_the_panel_says_that_nothing_was_asked_yet() -> None:
    assert "no batch was asked for yet" in plain(rendered(lines_of(None, [], 0.0), 80))


def test_the_panel_keeps_to_the_lowest_lines_and_puts_the_cursor_back() -> None:
    terminal = io.StringIO()
    with Panel(terminal, lambda: SIZE) as panel:
        opened = terminal.getvalue()
        panel.show(lines_of(READING, [STATUS], 1.0))
        drawn = terminal.getvalue().removeprefix(opened)
    closed = terminal.getvalue()
    assert f"\x1b[1;{40 - LINES}r" in opened  # what the script writes scrolls above
    assert drawn.startswith("\x1b7")
    assert drawn.endswith("\x1b8")
    rows = {int(row) for row in re.findall(r"\x1b\[(\d+);1H", drawn)}
    assert rows <= set(range(40 - LINES + 1, 41))
    assert len(rows) <= LINES
    assert "\x1b[r" in closed


def test_a_small_terminal_is_left_alone() -> None:
    terminal = io.StringIO()
    with Panel(terminal, lambda: os.terminal_size((80, 8))) as panel:
        panel.show("text")
    assert "text" not in terminal.getvalue()


def test_no_terminal_no_panel() -> None:
    assert not is_shown(io.StringIO())


def test_only_processes_that_live_are_shown(tmp_path: Path) -> None:
    (tmp_path / "status-1.json").write_text(json.dumps(STATUS))
    (tmp_path / "status-2.json").write_text(json.dumps({**STATUS, "at": 10.0}))
    (tmp_path / "status-3.json").write_text('{"pid": 3, "lo')
    assert [one["pid"] for one in statuses(tmp_path, 1001.0)] == [1]
    terminal = io.StringIO()
    Live(Panel(terminal, lambda: SIZE), tmp_path).draw(READING)
    assert "penstock doctor" in plain(terminal.getvalue())
