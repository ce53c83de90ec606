"""The grammar of legal graphs: the optimizer's driver runs it after every rule; it names the first offender."""

from __future__ import annotations

from penstock.errors import GraphError
from penstock.graph.node import Node, becomes_index_driven, is_index_driven
from penstock.graph.nodes import (
    ArrayFile,
    Chain,
    Concatenate,
    Counter,
    CsvRows,
    Filter,
    FormatRows,
    FormatStream,
    Generator,
    Indexed,
    Lines,
    Loaded,
    Map,
    Mix,
    PackedRecords,
    Permute,
    Random,
    Range,
    RecordFiles,
    Slices,
    Stride,
    TFRecords,
    Zip,
)
from penstock.graph.nodes.mixing import Directed
from penstock.graph.walk import nodes_of

_SOURCES = (
    *(Slices, Range, Counter, Random, Indexed, Generator),
    *(ArrayFile, RecordFiles, PackedRecords, Lines, TFRecords, CsvRows, Loaded, FormatRows, FormatStream),
)


def check_graph(root: Node) -> None:
    """Raises: GraphError at the first node, sources first, that is not legal."""
    for node in nodes_of(root):
        count = len(node.inputs)
        if isinstance(node, _SOURCES):
            legal, law = count == 0, "a source draws from nothing"
        elif isinstance(node, Zip):
            legal, law = count == node.template.leaf_count, "a zip has one input for each leaf of its template"
        elif isinstance(node, Concatenate):
            legal, law = count == 2, "a concatenation has two inputs"
        elif isinstance(node, Directed | Mix):
            legal, law = count > 0, "a mixture has inputs"
        else:
            legal, law = count == 1, "this node has one input"
        if legal and isinstance(node, Stride):
            legal, law = becomes_index_driven(node.input), "only an index-driven input can be addressed by number"
        if legal and isinstance(node, Permute):
            legal = is_index_driven(node.input) and (node.input.cardinality() >= 0 or node.window is not None)
            law = "only an index-driven range can be permuted, one without end by windows"
        if legal and isinstance(node, Chain):
            legal, law = all(isinstance(s, Map | Filter) for s in node.steps), "a segment holds maps and filters"
        if not legal:
            raise GraphError(law, where=node.label, got=f"{count} inputs: {[source.label for source in node.inputs]}")
