"""Windows that a flat map makes one batch of are never made: their rows are gathered for a whole block of them.

`window(5, 1).flat_map(lambda w: w.batch(5))`, and for windows of several leaves a zip of one batch of each. What the
function makes of a window is seen by calling it once with windows of nothing, which is done where it is known to be
pure and to call no other verb than these two. The result stays a stream of unknown length, as the flat map's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.block.tree import LEAF, Structure
from penstock.graph.node import UNKNOWN, Node, Signature
from penstock.graph.nodes import Batch, FlatMap, Slide, Window, Zip
from penstock.optimize.rule import Rule
from penstock.trace.purity import impurity

_VERBS = frozenset({"batch", "zip"})


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows(Node):
    """Leaf `leaf` of any window."""

    leaf: int
    verb: ClassVar[str] = "window"

    def cardinality(self) -> int:
        return UNKNOWN

    def signature(self) -> Signature | None:
        return None


def rewrite(node: Node, is_root: bool) -> Node:
    window = node.input if isinstance(node, FlatMap) else None
    if not isinstance(node, FlatMap) or type(window) is not Window:
        return node
    structure = _structure(window)
    if structure is None or impurity(node.function, _VERBS) is not None:
        return node
    made = _made_of(node, window, structure)
    batches = list(made.inputs) if type(made) is Zip else [made]
    stacked = [(b, b.input.leaf) for b in batches if type(b) is Batch and isinstance(b.input, _Rows)]
    if len(stacked) < len(batches) or len({leaf for _, leaf in stacked}) < len(stacked):
        return node
    first = stacked[0][0]
    size, drops = first.batch_size, first.drop_remainder
    if any((b.batch_size, b.drop_remainder, b.pads_remainder) != (size, drops, False) for b, _ in stacked):
        return node
    if size < window.size or (drops and size > window.size):
        return node
    return Slide(
        inputs=window.inputs, location=node.location, number=node.number, size=window.size, shift=window.shift,
        stride=window.stride, drop_remainder=window.drop_remainder or drops,
        make_dataset=window.make_dataset, template=made.template if isinstance(made, Zip) else LEAF,
        leaves=tuple(leaf for _, leaf in stacked), batch_label=first.label, window_label=window.label, memo=node.memo,
        count=node.cardinality(),
    )  # fmt: skip


def _structure(window: Window) -> Structure | None:
    """How the elements of the windows are nested, as far as it is promised: one window for each leaf."""
    signature = window.input.signature()
    return None if signature is None else signature.structure


def _made_of(node: FlatMap, window: Window, structure: Structure) -> Node:
    """What the function makes of any windows; a node that nothing fits where it cannot be said."""
    rows = [window.make_dataset(_Rows(location=window.location, leaf=leaf)) for leaf in range(structure.leaf_count)]
    element = structure.unflatten(rows)
    splat = structure.kind is not None and structure.kind is not dict
    try:
        made = node.node_of(node.function(*element) if splat else node.function(element))
    except Exception:  # noqa: BLE001  # it is called again with real windows, and raises it there
        made = None
    return window if made is None else made


SLIDE_WINDOWS = Rule("slide_windows", rewrite)
