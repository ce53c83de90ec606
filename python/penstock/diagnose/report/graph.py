"""The pipeline drawn as a graph, from its sources down to the trainer, each box coloured by its share of the blame.

The boxes are the user's nodes where the trace has them, else stages, else the loader. A box stands below all it takes
from; its colour is its share of the input's work, the trainer's its share of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.finding import percent, quantity
from penstock.diagnose.steps import loader_of, names_of, seconds_of, verbs_of
from penstock.telemetry.trace import Trace

_BOX, _TALL, _GAP_X, _GAP_Y = 256, 50, 14, 26
_LETTERS, _SMALL_LETTERS = 36, 44
TRAINER = "trainer"


@dataclass(frozen=True, slots=True)
class Box:
    """One step of the drawing. share: 0 to 1, how much it is to blame."""

    id: str
    title: str
    told: str
    inputs: tuple[str, ...]
    share: float = 0.0


def draw_graph(trace: Trace, diagnosis: Diagnosis) -> str:
    """The drawing, as wide as its widest row; who shows it lets it scroll."""
    boxes = boxes_of(trace, diagnosis)
    rows = _rows(boxes)
    width = max(len(row) for row in rows) * (_BOX + _GAP_X) - _GAP_X + 2
    height = len(rows) * (_TALL + _GAP_Y) - _GAP_Y + 2
    place: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        for column, box in enumerate(row):
            place[box.id] = (1 + column * (_BOX + _GAP_X), 1 + number * (_TALL + _GAP_Y))
    edges = "".join(_edge(place[source], place[box.id]) for box in boxes for source in box.inputs if source in place)
    drawn = "".join(_box(box, *place[box.id]) for box in boxes)
    return (
        f'<div class="graph scroll"><svg width="{width:.0f}" height="{height:.0f}" role="img">'
        f"<title>The pipeline</title>{edges}{drawn}</svg></div>"
    )


def boxes_of(trace: Trace, diagnosis: Diagnosis) -> tuple[Box, ...]:
    """The boxes, the trainer's last."""
    steps = {step.label: step for step in verbs_of(trace)}
    total = sum(seconds_of(trace, step) for step in steps.values())
    boxes: list[Box] = []
    for node in trace.nodes:
        step = next((steps[name] for name in names_of(node) if name in steps), None)
        share = seconds_of(trace, step) / total if step is not None and total > 0 else 0.0
        told = ""
        if step is not None:
            each = f", {quantity(step.busy_s / step.elements, 's')} an element" if step.elements else ""
            told = f"{percent(share)} of the work{each}"
        boxes.append(Box(node.id, node.label, told, node.inputs, share))
    if not boxes:
        for stage in trace.stages:
            busy = sum(seconds_of(trace, step) for step in steps.values() if step.stage == stage.id)
            told = f"{stage.workers} workers, {stage.executor}"
            boxes.append(Box(stage.id, stage.label, told, stage.inputs, busy / total if total > 0 else 0.0))
    if not boxes:
        share = diagnosis.verdict.waiting_share or 0.0
        boxes.append(Box("loader", loader_of(trace), trace.source, (), share))
    waiting = diagnosis.verdict.waiting_share
    told = "" if waiting is None else f"waits {percent(waiting)} of each step"
    own = 0.0 if waiting is None or diagnosis.verdict.kind == "input-bound" else 1 - waiting
    return (*boxes, Box(TRAINER, trace.framework or "trainer", told, (boxes[0].id,), own * 0.4))


def _rows(boxes: Sequence[Box]) -> list[list[Box]]:
    """From the top: a box is as far above the trainer as its longest way to it; the costliest of a row comes first."""
    known = {box.id: box for box in boxes}
    height = dict.fromkeys(known, 0)
    for _ in boxes:  # a way has at most as many steps
        changed = False
        for box in boxes:
            for source in box.inputs:
                if source in height and height[source] <= height[box.id] < len(boxes):
                    height[source], changed = height[box.id] + 1, True
        if not changed:
            break
    rows: list[list[Box]] = [[] for _ in range(max(height.values()) + 1)]
    for box in boxes:
        rows[-1 - height[box.id]].append(box)
    return [sorted(row, key=lambda box: _cost(box, known), reverse=True) for row in rows if row]


def _cost(box: Box, known: dict[str, Box]) -> tuple[float, int]:
    """What it and all below it are to blame for, and how many these are."""
    seen: dict[str, Box] = {}
    pending = [box]
    while pending:
        one = pending.pop()
        if one.id not in seen:
            seen[one.id] = one
            pending += [known[source] for source in one.inputs if source in known]
    return sum(one.share for one in seen.values()), len(seen)


def _box(box: Box, x: float, y: float) -> str:
    fill = f"color-mix(in srgb, var(--blame) {min(box.share, 1.0) * 70:.0f}%, var(--card))"
    middle = x + _BOX / 2
    title_y = y + (20 if box.told else 30)
    return (
        f"<g><title>{escape(f'{box.title}: {box.told}' if box.told else box.title)}</title>"
        f'<rect class="box" x="{x:.0f}" y="{y:.0f}" width="{_BOX}" height="{_TALL}" rx="6" style="fill:{fill}"/>'
        f'<text x="{middle:.0f}" y="{title_y:.0f}" text-anchor="middle">{escape(_cut(box.title, _LETTERS))}</text>'
        f'<text class="sub" x="{middle:.0f}" y="{y + 38:.0f}" text-anchor="middle">'
        f"{escape(_cut(box.told, _SMALL_LETTERS))}</text></g>"
    )


def _edge(source: tuple[float, float], target: tuple[float, float]) -> str:
    x1, y1, x2, y2 = source[0] + _BOX / 2, source[1] + _TALL, target[0] + _BOX / 2, target[1]
    middle = (y1 + y2) / 2
    return (
        f'<path class="edge" d="M{x1:.0f} {y1:.0f}C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {y2:.0f}"/>'
        f'<path class="edge" d="M{x2 - 4:.0f} {y2 - 5:.0f}L{x2:.0f} {y2:.0f}L{x2 + 4:.0f} {y2 - 5:.0f}"/>'
    )


def _cut(text: str, letters: int) -> str:
    """A label keeps its verb and the end of its place: a file and line."""
    if len(text) <= letters:
        return text
    verb, at, place = text.partition(" at ")
    kept = letters - len(verb) - len(at) - 1
    return f"{verb}{at}…{place[-kept:]}" if at and kept > 8 else f"{text[: letters - 1]}…"
