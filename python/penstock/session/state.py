"""The state of an iterator: a few JSON values, and whether they belong to a pipeline."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from penstock.engine.build import mark_at
from penstock.engine.marks import START, Mark
from penstock.errors import InvalidArgumentError, StateMismatchError
from penstock.graph.fingerprint import order_description, order_difference, order_fingerprint
from penstock.graph.node import Node, is_index_driven
from penstock.graph.nodes import Batch, Distribute, Prefetch, WithOptions
from penstock.plan.stage import Plan, Stage

STATE_VERSION = 2
OnChange = Literal["refuse", "keep_position"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a consumer is. position: elements it received; mark: of the next one, in the plan that was run."""

    seed: int
    epoch: int
    position: int
    mark: Mark


def state_of(graph: Node, plan: Plan, progress: Progress) -> dict[str, Any]:
    """`progress` as JSON values. An index-driven plan needs no mark: its position says all."""
    state = {
        "version": STATE_VERSION,
        "order": order_fingerprint(graph),
        "verbs": order_description(graph),
        "seed": progress.seed,
        "epoch": progress.epoch,
        "position": progress.position,
        "batch_size": _batch_size(graph),
    }
    if not is_index_driven(plan.graph):
        state |= {"plan": _shape(plan), "mark": progress.mark.to_json()}
    return state


def progress_of(state: Any, graph: Node, plan: Plan, on_change: OnChange) -> Progress:
    """What `state` says to a pipeline. One that was cut into other stages replays from the start.

    Raises: StateMismatchError: of another version or, with on_change="refuse", another pipeline; says what differs.
    """
    if on_change not in ("refuse", "keep_position"):
        raise InvalidArgumentError(
            "load_state_dict: on_change", got=repr(on_change), expected="'refuse' or 'keep_position'"
        )
    _check(state)
    position = int(state["position"])
    if state["order"] != order_fingerprint(graph):
        difference = order_difference(state["verbs"], graph)
        if on_change == "refuse":
            raise StateMismatchError(
                f"a state of another pipeline: {difference}",
                remedy='build the pipeline as it was, or go on at the same position: on_change="keep_position"',
            )
        position = _rescaled(position, state["batch_size"], graph)
        mark = START.after(position)
    else:
        mark = START.after(position)
        if "mark" in state and state.get("plan") == _shape(plan):
            mark = Mark.from_json(state["mark"])
    if is_index_driven(plan.graph):
        mark = mark_at(plan.root, position)
    return Progress(int(state["seed"]), int(state["epoch"]), position, mark)


def _check(state: Any) -> None:
    expected = {"version", "order", "verbs", "seed", "epoch", "position", "batch_size"}
    if isinstance(state, dict) and state.get("version", STATE_VERSION) != STATE_VERSION:
        raise StateMismatchError("a state of another version", got=state["version"], expected=STATE_VERSION)
    if not isinstance(state, dict) or not expected <= set(state):
        got = sorted(state) if isinstance(state, dict) else type(state).__name__
        raise StateMismatchError("not a state of a pipeline", got=got, expected=sorted(expected))
    for name, lowest in (("position", 0), ("epoch", 0), ("batch_size", 1), ("seed", None)):
        value = state[name]
        if not isinstance(value, int) or isinstance(value, bool) or (lowest is not None and value < lowest):
            expected_value = "an integer" if lowest is None else f"an integer >= {lowest}"
            raise StateMismatchError(f"a state with a bad {name}", got=repr(value), expected=expected_value)


def _batch_size(graph: Node) -> int:
    """How many elements below a last `batch` make one: what a position counts when the size changes."""
    while isinstance(graph, Prefetch | WithOptions | Distribute):
        graph = graph.input
    return graph.batch_size if isinstance(graph, Batch) else 1


def _rescaled(position: int, batch_size: int, graph: Node) -> int:
    """A position in batches of another size. Raises: StateMismatchError: it falls inside a batch."""
    rows, size = position * batch_size, _batch_size(graph)
    if rows % size:
        raise StateMismatchError(
            "the position of this state falls inside a batch",
            got=f"{rows} elements received in batches of {batch_size}",
            expected=f"a multiple of the batch size {size}",
            remedy=f"resume with a batch size that divides {rows}",
        )
    return rows // size


def _shape(plan: Plan) -> str:
    """16 hex digits, equal for plans cut into the same stages over the same nodes."""

    def describe(stage: Stage) -> list[Any]:
        said = {key: repr(value) for key, value in stage.node.parameters().items()}
        return [stage.kind, *stage.node.key, said, [describe(source) for source in stage.inputs]]

    return hashlib.blake2b(json.dumps(describe(plan.root)).encode(), digest_size=8).hexdigest()
