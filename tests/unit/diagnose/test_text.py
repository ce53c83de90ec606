"""A diagnosis shows itself: as text, to rich, in notebooks, as JSON; whatever names are made of."""

from __future__ import annotations

import io
import json

from rich.console import Console
from rich.text import Text

from penstock.diagnose import diagnose
from penstock.diagnose.finding import Fact, percent, quantity
from penstock.diagnose.text import as_markup
from tests.unit.diagnose.traces import node, ours, stage, step

NASTY = "map at <script>alert(1)</script>.py[red]:12"
TRACE = ours(
    0.1, steps=(step(busy_s=70.0, label=NASTY),), stages=(stage(label=NASTY),), loader=NASTY,
    nodes=(node("cache", 13, NASTY), node("map", 12, draws=True)), notes=("[bold]x",),
)  # fmt: skip


def test_text_is_the_verdict_then_the_findings_then_the_tables() -> None:
    text = str(diagnose(ours(0.1)))
    at = [text.index(part) for part in ("Input-bound:", "1. fault:", "   seen:", "   do:", "limit ", "what if", "- ")]
    assert at == sorted(at)
    assert max(map(len, text.splitlines())) <= 110


def test_rich_shows_the_same_text() -> None:
    diagnosis = diagnose(TRACE)
    out = io.StringIO()
    Console(file=out, width=200, color_system=None).print(diagnosis)
    assert out.getvalue().rstrip("\n") == str(diagnosis)
    assert "[bold]x" in out.getvalue()


def test_a_narrow_terminal_gets_shorter_lines() -> None:
    out = io.StringIO()
    Console(file=out, width=72, color_system=None).print(diagnose(ours(0.1, nodes=(node("map", 12),))))
    words = out.getvalue().split("limit ")[0]
    assert max(map(len, words.splitlines())) <= 72


def test_rich_gets_colours() -> None:
    shown = Text.from_markup(as_markup(diagnose(ours(0.1))))
    assert {str(span.style) for span in shown.spans} >= {"bold", "red"}


def test_html_is_escaped() -> None:
    shown = diagnose(TRACE)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<table>" in shown


def test_json_has_all_of_it() -> None:
    diagnosis = diagnose(ours(0.1))
    document = json.loads(diagnosis.to_json())
    assert document["line"] == diagnosis.line
    assert document["verdict"]["kind"] == "input-bound"
    assert document["findings"][0]["kind"] == "slow_function"
    assert document["findings"][0]["evidence"][0].keys() == {"name", "value", "unit"}
    assert document["limits"]["bounds"][0]["resource"] == "cpu"
    assert document["whatifs"]


def test_quantities_are_for_people() -> None:
    assert [percent(share) for share in (0, 0.001, 0.374, 1)] == ["0 %", "0.1 %", "37 %", "100 %"]
    assert Fact("x", 1536, "bytes").text == "x: 1.5 KiB"
    assert quantity(1234.5, "per s") == "1,234/s"
    assert quantity(2.5, "times") == "2.5 x"
    assert quantity(0.0031, "s") == "3.1 ms"
    assert quantity(64) == "64"
