"""Epochs as a table of words: the columns of which something is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.diagnose.finding import percent, quantity
from penstock.train.monitor.epoch import Epoch

Column = tuple[str, Callable[[Epoch], str]]


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _bytes(value: int | None) -> str:
    return "" if not value else quantity(float(value), "bytes")


def _number(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.0f}{unit}"


def columns(epochs: Sequence[Epoch], *, is_upper_bound: bool) -> tuple[list[str], list[list[str]]]:
    """Heads and rows; is_upper_bound: the device starved for at most what is told."""
    told: tuple[Column, ...] = (
        ("epoch", lambda one: str(one.number)),
        ("steps", lambda one: f"{one.steps:,}"),
        ("seconds", lambda one: quantity(one.seconds, "s")),
        ("a step", lambda one: quantity(one.step_s, "s")),
        ("slowest", lambda one: quantity(one.slowest_s, "s")),
        ("elements/s", lambda one: _number(one.rate_elements_per_s, "")),
        ("waits at most" if is_upper_bound else "starved", lambda one: _share(one.starved_share)),
        ("skipped", lambda one: "" if one.skipped is None else str(one.skipped)),
        ("new shapes", lambda one: str(one.new_shapes or "")),
        ("cores", lambda one: _share(one.cores)),
        ("memory", lambda one: _bytes(one.rss_bytes)),
        ("device peak", lambda one: _bytes(one.device_peak_bytes)),
        ("device memory", lambda one: _bytes(one.device_bytes)),
        ("device use", lambda one: _share(one.utilisation)),
        ("power", lambda one: _number(one.power_w, " W")),
        ("heat", lambda one: _number(one.temperature_c, " °C")),
    )
    cells = [(head, [tell(one) for one in epochs]) for head, tell in told]
    known = [(head, column) for head, column in cells if any(column)]
    rows = zip(*(column for _, column in known), strict=True) if epochs else ()
    return [head for head, _ in known], [list(row) for row in rows]
