"""A shuffle buffer that is small against the batch or the dataset hardly shuffles.

Its quality is measured: the buffer's algorithm is run over positions, and the mean displacement of an origin is given
as a share of the range (shuffle_quality.py says how); a permutation of the whole range gives a third. Found, whatever
binds, where less than a tenth of that is reached, or where the number of elements is unknown and the buffer is below
two batches. A shuffle that permutes the whole range (facts "how") has no buffer.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.shuffle_quality import PERMUTATION, displacement
from penstock.diagnose.steps import batch_rows, line_of, loader_of
from penstock.telemetry.trace import NodeTrace

_LEAST = 0.1
_WHOLE = "permutation"
_ADVICE = "or shuffle what is cheap to hold (names, indices) before it is read"


def find(case: Case) -> Finding | None:
    """`small_shuffle_buffer`, blaming the shuffle."""
    for node in case.trace.nodes:
        if node.verb == "shuffle" and node.facts.get("how") != _WHOLE:
            found = _of(case, node.label, node.facts.get("buffer_size"), _count(case, node))
            if found is not None:
                return found
    settings = case.trace.settings
    rows = settings.get("elements")
    return _of(case, loader_of(case.trace), settings.get("shuffle_buffer"), rows if isinstance(rows, int) else None)


def _count(case: Case, node: NodeTrace) -> int | None:
    below = next((one for one in case.trace.nodes if node.inputs and one.id == node.inputs[0]), node)
    return below.cardinality if below.cardinality >= 0 else None


def _of(case: Case, label: str, buffer: object, count: int | None) -> Finding | None:
    if not isinstance(buffer, int) or isinstance(buffer, bool) or buffer < 1:
        return None
    rows = batch_rows(case.trace)
    facts = [Fact("buffer", buffer)]
    if count is None:
        if rows is None or buffer >= 2 * rows:
            return None
        facts.append(Fact("batch", rows))
        claim = f"the buffer of {label} holds {buffer} elements, less than two batches"
    else:
        moved = displacement(buffer, count)
        if count <= buffer or moved >= _LEAST * PERMUTATION:
            return None
        facts += [Fact("elements", count), Fact("mean displacement, of the range", moved, "share"),
                  Fact("of a permutation", PERMUTATION, "share")]  # fmt: skip
        claim = f"{label} moves an element by {percent(moved)} of the dataset, where a full shuffle moves it by 33 %"
    return Finding(
        kind="small_shuffle_buffer", blame=label, claim=claim, evidence=tuple(facts), confidence="high", level="fault",
        advice=(f"at {line_of(label)}: {knob(case.trace, 'shuffle')}", _ADVICE),
    )  # fmt: skip
