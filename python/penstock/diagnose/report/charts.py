"""Charts as small pure functions: numbers in, a figure of HTML and SVG out. No script, no library.

Only shapes are drawn in SVG, stretched to the width there is; words stand in HTML around it, so that they stay
readable on a narrow screen. Every word is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log2, log10

from penstock.diagnose.finding import Unit, quantity
from penstock.diagnose.report.style import SERIES

_WIDTH, _HEIGHT = 1000, 240
_MOST = 240
"""Points of a line, and bars, at most; more are joined."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: (seconds, value), in order of time."""

    name: str
    points: tuple[tuple[float, float], ...]


def line_chart(title: str, series: Sequence[Series], unit: Unit = "", most: float | None = None) -> str:
    """Lines over time. most: the top of the scale; None: a round number above all values. "" where there are none."""
    drawn = [Series(one.name, _thinned(one.points)) for one in series if len(one.points) > 1][:SERIES]
    if not drawn:
        return ""
    top = most or _round_up(max(value for one in drawn for _, value in one.points), unit)
    began, ended = min(one.points[0][0] for one in drawn), max(one.points[-1][0] for one in drawn)
    lines = "".join(
        f'<polyline class="line" stroke="var(--s{number})" points="{_path(one, began, ended, top)}">'
        f"<title>{escape(one.name)}</title></polyline>"
        for number, one in enumerate(drawn)
    )
    legend = _legend([(one.name, f"var(--s{number})") for number, one in enumerate(drawn)])
    return _figure(title, legend, _grid() + lines, (top, unit), (began, ended))


def step_chart(title: str, steps: Sequence[tuple[float, float, float]]) -> str:
    """Of each step (when it asked, seconds it waited, seconds of its own work), a bar of both. "" of none."""
    bars = _joined(steps)
    if not bars:
        return ""
    top = _round_up(max(wait + work for _, wait, work in bars), "s")
    width = _WIDTH / len(bars)
    shapes = []
    for number, (at_s, wait, work) in enumerate(bars):
        low, high = wait / top * _HEIGHT, (wait + work) / top * _HEIGHT
        told = f"<title>{at_s:.2f} s: waited {quantity(wait, 's')}, worked {quantity(work, 's')}</title>"
        shapes.append(
            f"<g>{told}{_rect(number * width, _HEIGHT - high, width * 0.86, high - low, 'work')}"
            f"{_rect(number * width, _HEIGHT - low, width * 0.86, low, 'wait')}</g>"
        )
    legend = _legend([("waiting for input", "var(--wait)"), ("the trainer's own work", "var(--work)")])
    return _figure(title, legend, _grid() + "".join(shapes), (top, "s"), (bars[0][0], bars[-1][0]))


def lanes(title: str, rows: Sequence[tuple[str, Sequence[tuple[str, float]]]], note: str = "") -> str:
    """Horizontal bars to one scale: of each row a name, and parts (colour, seconds) side by side."""
    longest = max((sum(seconds for _, seconds in parts) for _, parts in rows), default=0.0)
    if longest <= 0:
        return ""
    cells = []
    for name, parts in rows:
        bars = "".join(
            f'<b style="width:{seconds / longest:.4%};background:var(--{colour})" title="{quantity(seconds, "s")}"></b>'
            for colour, seconds in parts
        )
        total = quantity(sum(seconds for _, seconds in parts), "s")
        cells.append(f'<div>{escape(name)} <span class="soft">{total}</span></div><div class="lane">{bars}</div>')
    words = f'<p class="soft small">{escape(note)}</p>' if note else ""
    return f'<figure><figcaption>{escape(title)}</figcaption><div class="lanes">{"".join(cells)}</div>{words}</figure>'


def _figure(title: str, legend: str, shapes: str, scale: tuple[float, Unit], times: tuple[float, float]) -> str:
    top, unit = scale
    labels = "".join(f"<span>{escape(quantity(top * part, unit))}</span>" for part in (1.0, 0.5)) + "<span>0</span>"
    began, ended = times
    ticks = "".join(f"<span>{began + (ended - began) * part:.4g} s</span>" for part in (0.0, 0.5, 1.0))
    return (
        f"<figure><figcaption>{escape(title)} {legend}</figcaption>"
        f'<div class="plot"><div class="y">{labels}</div>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img">'
        f"<title>{escape(title)}</title>{shapes}</svg>"
        f'<div class="x">{ticks}</div></div></figure>'
    )


def _legend(names: Sequence[tuple[str, str]]) -> str:
    entries = "".join(f'<span><i style="background:{colour}"></i>{escape(name)}</span>' for name, colour in names)
    return f'<span class="legend">{entries}</span>'


def _grid() -> str:
    return "".join(f'<line class="grid" x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}"/>' for y in (0, _HEIGHT // 2, _HEIGHT))


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    if height <= 0:
        return ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}" fill="var(--{colour})"/>'


def _path(series: Series, began: float, ended: float, top: float) -> str:
    span = max(ended - began, 1e-9)
    return " ".join(
        f"{(at_s - began) / span * _WIDTH:.1f},{_HEIGHT - min(max(value / top, 0.0), 1.05) * _HEIGHT:.1f}"
        for at_s, value in series.points
    )


def _thinned(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """As many points as are drawn: of each run of them the mean."""
    if len(points) <= _MOST:
        return tuple(points)
    runs = [points[len(points) * n // _MOST : len(points) * (n + 1) // _MOST] for n in range(_MOST)]
    return tuple((run[0][0], sum(value for _, value in run) / len(run)) for run in runs)


def _joined(steps: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    most = _MOST // 2
    if len(steps) <= most:
        return list(steps)
    runs = [steps[len(steps) * n // most : len(steps) * (n + 1) // most] for n in range(most)]
    return [
        (run[0][0], sum(wait for _, wait, _ in run) / len(run), sum(work for *_, work in run) / len(run))
        for run in runs
    ]


def _round_up(value: float, unit: Unit) -> float:
    """The next round number at or above `value`: of bytes a power of two, else 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    if unit == "bytes":
        return 2.0 ** ceil(log2(value))
    scale = 10.0 ** floor(log10(value))
    return next(step * scale for step in (1, 2, 5, 10) if step * scale >= value * 0.9999)
