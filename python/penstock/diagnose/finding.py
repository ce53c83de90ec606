"""Finding: one thing that was concluded from a trace, with what it rests on and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.units import format_bytes, format_seconds

Level = Literal["fault", "hint", "note"]
Confidence = Literal["high", "medium", "low"]
Unit = Literal["", "share", "s", "bytes", "per s", "times"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A number (or a word) that a claim rests on, as measured; `unit` says how to read it.

    share: 0 to 1. per s: elements each second. times: a ratio.
    """

    name: str
    value: float | str
    unit: Unit = ""

    @property
    def text(self) -> str:
        """`waiting: 37 %`."""
        return f"{self.name}: {quantity(self.value, self.unit)}"


def quantity(value: float | str, unit: Unit = "") -> str:
    """A value for a person, with its unit."""
    if isinstance(value, str):
        return value
    if unit == "share":
        return percent(value)
    if unit == "s":
        return format_seconds(value)
    if unit == "bytes":
        return format_bytes(value)
    number = f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"
    return {"per s": f"{number}/s", "times": f"{number} x"}.get(unit, number)


def percent(share: float) -> str:
    """`0.374` as `37 %`, and what is less than one percent with two digits."""
    return f"{share * 100:.0f} %" if share == 0 or share >= 0.01 else f"{share * 100:.2g} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim, what it rests on, and what to do.

    kind: a stable word for programs. blame: the step or loader it is about, as errors name it. level: "fault" costs
    much, "hint" some or will, "note" asks for nothing. advice: what to write, and where; the first is the best.
    predicted_gain: throughput afterwards over throughput now, 1.0 for none; None: not predicted.
    """

    kind: str
    claim: str
    blame: str
    advice: tuple[str, ...] = ()
    evidence: tuple[Fact, ...] = ()
    confidence: Confidence = "medium"
    level: Level = "hint"
    predicted_gain: float | None = None

    @property
    def gain_text(self) -> str:
        """`up to 1.8 x` for a person; "" where nothing was predicted."""
        return "" if self.predicted_gain is None else f"up to {self.predicted_gain:.2g} x the throughput"
