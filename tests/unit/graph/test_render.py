from __future__ import annotations

import penstock as ps
from penstock.block.tree import LEAF, tuple_of
from penstock.graph.nodes import Batch, Shuffle, Skip, Zip
from penstock.graph.render import render_cardinality, render_graph
from tests.unit.graph.datasets import HERE, range_node


def test_render_graph_has_a_line_a_node() -> None:
    shuffled = Shuffle(inputs=(range_node(),), location=HERE, buffer_size=None, seed=3, reshuffle_each_iteration=True)
    graph = render_graph(Batch(inputs=(shuffled,), location=HERE, batch_size=4, drop_remainder=False))
    assert graph.splitlines() == [
        "#0  range at train.py:7 (start=0, stop=10, step=1): 10 x int64[]",
        "#1  shuffle at train.py:7 (buffer_size=None, seed=3, reshuffle_each_iteration=True): 10 x int64[]",
        "#2  batch at train.py:7 (batch_size=4, drop_remainder=False): 3 x int64[?]",
    ]


def test_render_graph_names_inputs_that_are_not_just_above() -> None:
    shared = range_node()
    skipped = Skip(inputs=(shared,), location=HERE, count=2)
    zipped = Zip(inputs=(shared, skipped), location=HERE, template=tuple_of(LEAF, LEAF))
    assert render_graph(zipped).splitlines()[-1] == "#2  zip at train.py:7 <- #0, #1: 8 x (int64[], int64[])"


def test_render_graph_says_what_is_unknown() -> None:
    dataset = ps.Dataset.range(3).repeat().map(lambda x: x)
    assert render_graph(dataset._node).splitlines()[-1].endswith(": infinite x unknown")


def test_render_cardinality() -> None:
    counts = (ps.INFINITE_CARDINALITY, ps.UNKNOWN_CARDINALITY, 0, 7)
    assert [render_cardinality(count) for count in counts] == ["infinite", "unknown", "0", "7"]
