from __future__ import annotations

from collections.abc import Callable

import pytest

import penstock as ps
from penstock.block.tree import LEAF, tuple_of
from penstock.errors import GraphError
from penstock.graph.check import check_graph
from penstock.graph.node import Node
from penstock.graph.nodes import Batch, Chain, Concatenate, Permute, Stride, Take, Zip
from tests.unit.graph.datasets import HERE, infinite, node_of, range_node, ten, unknown


def _permute(node: Node) -> Permute:
    return Permute(inputs=(node,), location=HERE, seed=None, reshuffle_each_iteration=True)


ILLEGAL: dict[str, tuple[Callable[[], Node], str]] = {
    "a source with an input": (
        lambda: range_node(inputs=(range_node(),)),
        "a source draws from nothing",
    ),
    "a zip of fewer": (
        lambda: Zip(inputs=(range_node(),), location=HERE, template=tuple_of(LEAF, LEAF)),
        "a zip has one input for each leaf of its template",
    ),
    "a concatenation of one": (
        lambda: Concatenate(inputs=(range_node(),), location=HERE),
        "a concatenation has two inputs",
    ),
    "a verb without input": (lambda: Batch(location=HERE, batch_size=2, drop_remainder=False), "one input"),
    "a verb with two inputs": (lambda: Take(inputs=(range_node(), range_node()), location=HERE, count=1), "one input"),
    "a stride over a stream": (
        lambda: Stride(inputs=(node_of(unknown()),), location=HERE, start=0, step=1, count=2),
        "only an index-driven input",
    ),
    "a permutation of a stream": (lambda: _permute(node_of(unknown())), "only an index-driven range can be permuted"),
    "a permutation without end": (lambda: _permute(node_of(infinite())), "only an index-driven range can be permuted"),
    "a segment of a batch": (
        lambda: Chain(
            inputs=(range_node(),),
            location=HERE,
            steps=(Batch(inputs=(range_node(),), location=HERE, batch_size=2, drop_remainder=False),),
        ),
        "a segment holds maps and filters",
    ),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_check_graph_names_the_offender_and_the_law(name: str) -> None:
    make, law = ILLEGAL[name]
    node = make()
    with pytest.raises(GraphError) as caught:
        check_graph(node)
    assert law in caught.value.what
    assert caught.value.where == node.label
    assert f"{len(node.inputs)} inputs" in caught.value.got


def test_check_graph_names_the_offender_nearest_the_source() -> None:
    bad = Concatenate(inputs=(range_node(),), location=HERE)
    with pytest.raises(GraphError) as caught:
        check_graph(Take(inputs=(bad, bad), location=HERE, count=1))
    assert caught.value.where == bad.label


@pytest.mark.parametrize(
    "make",
    [
        ten,
        lambda: ps.Dataset.zip(ten(), (ten(), unknown())),
        lambda: ten().concatenate(ten()).shuffle().repeat(2).map(lambda x: x).filter(lambda x: True).batch(2).unbatch(),
        lambda: infinite()[3:9].cache().prefetch(1).shard(2, 1).enumerate(),
    ],
)
def test_check_graph_passes_what_verbs_make(make: Callable[[], ps.Dataset]) -> None:
    check_graph(node_of(make()))
