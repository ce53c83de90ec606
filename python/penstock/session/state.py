"""The state of an iterator: a few JSON values, and whether they belong to a pipeline."""

from __future__ import annotations

from typing import Any

from penstock.errors import (
    StateMismatchError,
)
from penstock.graph.fingerprint import order_description, order_fingerprint
from penstock.graph.node import Node

STATE_VERSION = 1


def checked_position(state: Any, graph: Node) -> int:
    expected = {"version", "order", "verbs", "seed", "epoch", "position"}
    if not isinstance(state, dict) or not expected <= set(state):
        got = sorted(state) if isinstance(state, dict) else type(state).__name__
        raise StateMismatchError("not a state of a pipeline", got=got, expected=sorted(expected))
    if state["version"] != STATE_VERSION:
        raise StateMismatchError("a state of another version", got=state["version"], expected=STATE_VERSION)
    if state["order"] != order_fingerprint(graph):
        here = order_description(graph)
        differing = [(a, b) for a, b in zip(state["verbs"], here, strict=False) if a != b]
        shorter, longer = sorted((state["verbs"], here), key=len)
        was, now = differing[0] if differing else ("", "")
        if not differing:
            extra = longer[len(shorter)]
            was, now = (extra, "no such verb") if longer is state["verbs"] else ("no such verb", extra)
        raise StateMismatchError(
            "a state of another pipeline", got=f"{was} in the state", expected=f"{now} as in this pipeline"
        )
    for name, lowest in (("position", 0), ("epoch", 0), ("seed", None)):
        value = state[name]
        if not isinstance(value, int) or isinstance(value, bool) or (lowest is not None and value < lowest):
            expected_value = "an integer" if lowest is None else f"an integer >= {lowest}"
            raise StateMismatchError(f"a state with a bad {name}", got=repr(value), expected=expected_value)
    return int(state["position"])
