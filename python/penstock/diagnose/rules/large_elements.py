"""Elements so large that a few of them fill the memory should be read in parts.

Found, whatever binds, where one element below the batch is 256 MiB or more, or where those that must be held at once
(one for each worker, and a batch of them) take half of the memory budget.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding
from penstock.diagnose.steps import ancestors_of, batch_rows, line_of
from penstock.telemetry.trace import NodeTrace

_LARGE_BYTES = 256 * 2**20
_ADVICE = "read in parts: slices of a mapped file (Dataset.from_array_file), rows of a Parquet file, crops of images"
_BATCHING = ("batch", "padded_batch", "ragged_batch", "rebatch", "pack", "prefetch", "repeat", "window")


def find(case: Case) -> Finding | None:
    """`large_elements`, blaming the node that gives them."""
    plain = [node for node in _below_batch(case) if node.element_bytes]
    if not plain:
        return None
    node = max(plain, key=lambda one: one.element_bytes or 0.0)
    size, memory = node.element_bytes or 0.0, case.trace.host.memory_bytes
    held = size * (max((stage.workers for stage in case.trace.stages), default=1) + (batch_rows(case.trace) or 1))
    if size < _LARGE_BYTES and not (memory and held > memory / 2 and size > _LARGE_BYTES / 16):
        return None
    return Finding(
        kind="large_elements", blame=node.label, claim=f"elements of {node.label} are large: those at work fill memory",
        advice=(f"at {line_of(node.label)}: {_ADVICE}",),
        evidence=(Fact("one element", size, "bytes"), Fact("held at once, at least", held, "bytes"),
                  Fact("memory budget", memory, "bytes")),
    )  # fmt: skip


def _below_batch(case: Case) -> list[NodeTrace]:
    """Nodes whose elements are single ones: no batch lies at or below them."""
    return [
        node
        for node in case.trace.nodes
        if not any(one.verb in _BATCHING for one in (node, *ancestors_of(case.trace, node)))
    ]
