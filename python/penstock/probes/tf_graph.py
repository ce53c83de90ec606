"""The graph of a tf.data pipeline, read from its dataset objects: nodes with what they were told, last verb first."""

from __future__ import annotations

import re
from typing import Any

from penstock.probes.fetching import PYTHON_OPS
from penstock.probes.place import is_users, label_of
from penstock.telemetry.trace import NodeTrace, Value

_SETTINGS = {
    "buffer_size": "_buffer_size", "num_parallel_calls": "_num_parallel_calls", "batch_size": "_batch_size",
    "cycle_length": "_cycle_length", "block_length": "_block_length", "count": "_count",
    "filename": "_filename", "deterministic": "_deterministic", "drop_remainder": "_drop_remainder",
}  # fmt: skip
_VERBS = {
    "parallel_map": "map", "parallel_batch": "batch", "parallel_interleave": "interleave", "memory_cache": "cache",
    "tensor_slice": "from_tensor_slices", "tensor": "from_tensors", "range": "range", "tf_record": "TFRecordDataset",
    "text_line": "TextLineDataset", "generator": "from_generator",
}  # fmt: skip
_NO_WORK = {"Placeholder", "Const", "Identity", "NoOp", "_Arg", "_Retval", "Cast", "PartitionedCall", "Shape"}
_RANDOM = re.compile(r"^(Stateful|Stateless)?(Random|TruncatedNormal|Multinomial|SampleDistorted)")
_MOST = 100


def nodes_of(dataset: Any) -> tuple[tuple[NodeTrace, ...], dict[str, Value]]:
    """Its nodes, and the settings of the pipeline as a whole: parallel calls of the slowest kind of step, prefetching.

    Reads attributes only; a node whose parts have other names is told with fewer facts.
    """
    nodes: list[NodeTrace] = []
    waiting, seen = [dataset], set[int]()
    while waiting and len(nodes) < _MOST:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        inputs = _inputs(one)
        verb = _verb(one)
        if verb in ("options", "model"):
            waiting[:0] = inputs
            continue
        nodes.append(_node(one, verb, [str(id(_behind_options(part))) for part in inputs]))
        waiting += inputs
    return tuple(nodes), _settings(nodes)


def functions_of(dataset: Any) -> dict[str, frozenset[str]]:
    """The functions of a pipeline, by the label of their node, and the types of ops in each."""
    found: dict[str, frozenset[str]] = {}
    waiting, seen = [dataset], set[int]()
    while waiting and len(seen) < _MOST:
        one = waiting.pop(0)
        if id(one) not in seen:
            seen.add(id(one))
            waiting += _inputs(one)
            function = getattr(getattr(one, "_map_func", None), "_func", None)
            if function is not None:
                found[_label(one, _verb(one), function)] = frozenset(_ops(one) - _NO_WORK)
    return found


def _node(dataset: Any, verb: str, inputs: list[str]) -> NodeTrace:
    facts: dict[str, Value] = {}
    for name, attribute in _SETTINGS.items():
        value = _value(getattr(dataset, attribute, None))
        if value is not None:
            facts[name] = value
    if verb == "cache" and not facts.get("filename"):
        facts["storage"] = "memory"
    function = getattr(getattr(dataset, "_map_func", None), "_func", None)
    ops = _ops(dataset)
    if ops & set(PYTHON_OPS):
        facts["python_function"] = True
    if verb in ("map", "interleave") and "num_parallel_calls" not in facts:
        facts["num_parallel_calls"] = None
    draws = verb in ("shuffle", "random") or any(_RANDOM.match(op) for op in ops)
    label = _label(dataset, verb, function)
    if function is not None:
        facts["function"] = label_of(function)
    return NodeTrace(
        id=str(id(dataset)), verb=verb, label=label, inputs=tuple(inputs), cardinality=_cardinality(dataset),
        draws=draws, facts=facts,
    )  # fmt: skip


def _label(dataset: Any, verb: str, function: Any) -> str:
    """`map at train.py:9`, where it was written; else `map of load at train.py:3`, if that is the user's."""
    place = getattr(dataset, "_penstock_place", "")
    if place:
        return f"{verb} at {place}"
    code = getattr(function, "__code__", None)
    return f"{verb} of {label_of(function)}" if code is not None and is_users(code) else verb


def _settings(nodes: list[NodeTrace]) -> dict[str, Value]:
    maps = [node for node in nodes if node.verb in ("map", "interleave", "from_generator", "flat_map")]
    settings: dict[str, Value] = {"prefetch": bool(nodes) and nodes[0].verb == "prefetch"}
    settings["num_parallel_calls"] = maps[0].facts.get("num_parallel_calls") if maps else None
    settings["python_function"] = any(node.facts.get("python_function") for node in nodes)
    batch = next((node for node in nodes if node.verb.endswith("batch")), None)
    if batch is not None:
        settings["batch_size"] = batch.facts.get("batch_size")
    if settings["prefetch"]:
        settings["prefetch_buffer_size"] = nodes[0].facts.get("buffer_size")
    return settings


def _verb(dataset: Any) -> str:
    name = type(dataset).__name__.strip("_").removesuffix("V1Adapter").removesuffix("V2").removesuffix("Dataset")
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return _VERBS.get(snake, snake or "dataset")


def _inputs(dataset: Any) -> list[Any]:
    try:
        return list(dataset._inputs())
    except Exception:  # noqa: BLE001 - a dataset of somebody's own making, of which nothing more is known
        return []


def _behind_options(dataset: Any) -> Any:
    while _verb(dataset) in ("options", "model"):
        inputs = _inputs(dataset)
        if not inputs:
            break
        dataset = inputs[0]
    return dataset


def _value(value: Any) -> Value:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        found = value.numpy()
    except Exception:  # noqa: BLE001 - a tensor of a graph, whose value is not known here
        return None
    found = found.item() if hasattr(found, "item") else found
    found = found.decode(errors="replace") if isinstance(found, bytes) else found
    return found if isinstance(found, bool | int | float | str) else None


def _cardinality(dataset: Any) -> int:
    value = _value(dataset.cardinality()) if hasattr(dataset, "cardinality") else None
    return value if isinstance(value, int) else -2


def _ops(dataset: Any) -> set[str]:
    """The kinds of ops in its function, and in the functions that one calls."""
    function = getattr(getattr(dataset, "_map_func", None), "_function", None)
    graph = getattr(function, "graph", None)
    if graph is None:
        return set()
    try:
        definition = graph.as_graph_def()
    except Exception:  # noqa: BLE001 - a graph that is not to be had tells nothing
        return set()
    nodes = [node.op for node in definition.node]
    return {*nodes, *(node.op for one in definition.library.function for node in one.node_def)}
