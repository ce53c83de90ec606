"""The page: whole, escaped, loads nothing, and is drawn in a real browser at both widths, light and dark."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from penstock.diagnose import diagnose
from penstock.diagnose.report.html import page_of, write_html
from penstock.errors import WriteError
from penstock.machine.readings import Host
from penstock.telemetry.trace import Consumer, Interval, Retrace, SlowElement, StageTrace, Trace, TuningEntry
from tests.unit.diagnose.browser import browsing, find_browser
from tests.unit.diagnose.full import FULL
from tests.unit.diagnose.traces import foreign, node, ours, stage, step

EMPTY = Trace(source="iterable", loader="", host=Host(cpus=1, memory_bytes=0), consumer=Consumer())
NASTY = '"><script>alert(1)</script><img src=x onerror=alert(2)>' + "/a_long_path" * 12
NAUGHTY = ours(
    0.1, loader=NASTY, framework=NASTY, settings={NASTY: NASTY}, notes=(NASTY,), cut=NASTY,
    steps=(step(busy_s=70.0, label=NASTY, slow=(SlowElement(origin=NASTY, seconds=1.0),)),),
    stages=(stage(label=NASTY, executor=NASTY, reason=NASTY),), nodes=(node(NASTY, 1),),
    tuning=(TuningEntry(at_s=1.0, knob=NASTY, stage=NASTY, before=NASTY, after=NASTY, why=NASTY),),
    retraces=tuple(Retrace(step=n, leaf=NASTY, before=NASTY, after=NASTY) for n in range(4)),
    host=Host(cpus=8, memory_bytes=1, cpu_reason=NASTY),
)  # fmt: skip


class Balance(HTMLParser):
    """Which tags are open; void ones never are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _page(trace: Trace) -> str:
    return page_of(trace, diagnose(trace))


@pytest.mark.parametrize("trace", [FULL, EMPTY, NAUGHTY, foreign("torch", settings={"num_workers": 0})])
def test_every_tag_is_closed_and_no_script_is_there(trace: Trace) -> None:
    parser = Balance()
    parser.feed(_page(trace))
    assert parser.open == []
    assert not {"script", "img", "iframe"} & set(parser.seen)


def test_nothing_is_loaded_from_anywhere() -> None:
    assert re.findall(r"(?:src|href|url|@import)\s*[=(]\s*[\"']?(?!data:)[^\"'\s)]+", _page(FULL)) == []


def test_all_sections_are_there() -> None:
    titles = re.findall(r"<h2>(.*?)</h2>", _page(FULL))
    assert titles == [
        "What to do", "The pipeline", "Steps", "The machine", "Limits, and what would change them", "Tuning log",
        "How it was measured",
    ]  # fmt: skip
    charts = re.findall(r"<figcaption>(.*?) ?<", _page(FULL))
    assert charts == [
        "A step, on average", "Steps over time", "Blocks that wait to be taken", "Tasks at work", "Cores", "Memory",
        "Accelerators", "Accelerator memory", "Power, W", "Temperature, °C",
    ]  # fmt: skip


def test_an_empty_trace_gives_a_page_with_what_is_known() -> None:
    page = _page(EMPTY)
    assert "No verdict: 0 steps seen" in page
    assert "Tuning log" not in page


def test_a_trace_that_was_cut_is_shown_with_the_reason() -> None:
    assert "the trace ends early: killed" in _page(replace(FULL, cut="killed"))


def test_the_step_to_blame_has_the_strongest_colour() -> None:
    shares = {
        name: int(share)
        for share, name in re.findall(r"var\(--blame\) (\d+)%.*?<text[^>]*>(\w+) at", _page(FULL))
    }  # fmt: skip
    assert max(shares, key=lambda name: shares[name]) == "map"


def test_a_step_named_after_its_function_colours_its_node() -> None:
    nodes = (node("interleave", 27, facts={"function": "rows at train.py:3"}),)
    steps = (step("interleave", 70.0, label="interleave of rows at train.py:3"),)
    assert re.search(r"color-mix\(in srgb, var\(--blame\) 70%", _page(foreign("tf.data", nodes=nodes, steps=steps)))


def test_a_graph_of_many_nodes_and_one_with_a_circle_are_drawn() -> None:
    nodes = tuple(replace(node("map", n, f"n{n + 1}"), id=f"n{n}") for n in range(200))
    assert _page(ours(nodes=nodes)).count('class="box"') == 201
    circle = (replace(node("map", 1, "b"), id="a"), replace(node("map", 2, "a"), id="b"))
    assert _page(ours(nodes=circle)).count('class="box"') == 3


def test_long_runs_make_small_pages() -> None:
    intervals = tuple(Interval(at_s=n / 100, wait_s=0.001) for n in range(50_000))
    occupied = tuple(replace(FULL.stages[0].occupancy[0], at_s=float(n)) for n in range(50_000))
    stages = (StageTrace(id="0", kind="indexed", label="a", occupancy=occupied),)
    assert len(_page(replace(FULL, intervals=intervals, stages=stages, steps=()))) < 150_000


def test_a_path_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    diagnosis = diagnose(EMPTY)
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "none" / "a.html", tmp_path / "file" / "a.html", tmp_path / "folder"):
        with pytest.raises(WriteError, match="HTML report: cannot be written"):
            write_html(EMPTY, diagnosis, path)
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["file", "folder"]


@pytest.mark.skipif(find_browser() is None, reason="no Chromium or Chrome here")
def test_a_browser_shows_it_at_both_widths_light_and_dark(tmp_path: Path) -> None:
    pages = {"full": FULL, "naughty": NAUGHTY, "empty": EMPTY}
    for name, trace in pages.items():
        write_html(trace, diagnose(trace), tmp_path / f"{name}.html")
    looks = [("full", width, dark) for width in (1280, 400) for dark in (False, True)]
    with browsing(find_browser() or "") as tab:
        backgrounds = set()
        for name, width, dark in (*looks, ("naughty", 400, False), ("empty", 400, False)):
            tab.requests.clear()
            tab.open(tmp_path / f"{name}.html", width, dark=dark)
            assert tab.evaluate("document.documentElement.scrollWidth") == width  # nothing sticks out
            assert len(tab.requests) == 1  # the page alone
            backgrounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
        tab.open(tmp_path / "full.html", 400, dark=False)
        drawn = tab.evaluate(
            "[...document.querySelectorAll('figure svg, .graph svg')].map(s => [s.getBoundingClientRect().width > 200,"
            " s.querySelectorAll('polyline, rect').length > 0])"
        )
        assert drawn == [[True, True]] * 10
        small = tab.evaluate(
            "[...document.querySelectorAll('main *')].filter(e => e.childNodes.length && e.textContent.trim() &&"
            " parseFloat(getComputedStyle(e).fontSize) < 11).length"
        )
        assert small == 0
        assert tab.messages == []
        assert len(backgrounds) == 2
