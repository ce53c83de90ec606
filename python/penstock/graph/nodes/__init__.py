"""Every kind of node the verbs make, and the few that rules put in their place.

Each validates nothing the verb has not: arguments are checked where the user wrote them (verbs/). Cardinality and
signature follow tf.data.
"""

from __future__ import annotations

from penstock.graph.nodes.combining import Concatenate, Zip, graft
from penstock.graph.nodes.distribution import Distribute, Policy, RankRows
from penstock.graph.nodes.element import Chain, Enumerate, Executor, Filter, Map
from penstock.graph.nodes.fallible import OnError
from penstock.graph.nodes.files import (
    ArrayFile,
    CsvRows,
    IndexedLines,
    IndexedTFRecords,
    Lines,
    PackedRecords,
    RecordFiles,
    TFRecords,
)
from penstock.graph.nodes.formats import FormatRows, FormatStream
from penstock.graph.nodes.grouping import Batch, PaddedBatch, RaggedBatch, Rebatch, Unbatch
from penstock.graph.nodes.keeping import Cache, FileCache, IgnoreErrors, Loaded, Prefetch, WithOptions
from penstock.graph.nodes.mixing import Choose, Mix, Sample
from penstock.graph.nodes.nested import (
    Bucket,
    FlatMap,
    GatheredBuckets,
    GroupByWindow,
    Interleave,
    Nesting,
    Slide,
    Window,
)
from penstock.graph.nodes.order import AssertCardinality, Permute, Repeat, Shard, Shuffle, Skip, Stride, Take
from penstock.graph.nodes.packing import Pack
from penstock.graph.nodes.sources import Counter, Generator, Indexed, Random, Range, Slices
from penstock.graph.nodes.stateful import Resample, Scan, TakeWhile, Unique

__all__ = [
    "ArrayFile",
    "AssertCardinality",
    "Batch",
    "Bucket",
    "Cache",
    "Chain",
    "Choose",
    "Concatenate",
    "Counter",
    "CsvRows",
    "Distribute",
    "Enumerate",
    "Executor",
    "FileCache",
    "Filter",
    "FlatMap",
    "FormatRows",
    "FormatStream",
    "GatheredBuckets",
    "Generator",
    "GroupByWindow",
    "IgnoreErrors",
    "Indexed",
    "IndexedLines",
    "IndexedTFRecords",
    "Interleave",
    "Lines",
    "Loaded",
    "Map",
    "Mix",
    "Nesting",
    "OnError",
    "Pack",
    "PackedRecords",
    "PaddedBatch",
    "Permute",
    "Policy",
    "Prefetch",
    "RaggedBatch",
    "Random",
    "Range",
    "RankRows",
    "Rebatch",
    "RecordFiles",
    "Repeat",
    "Resample",
    "Sample",
    "Scan",
    "Shard",
    "Shuffle",
    "Skip",
    "Slices",
    "Slide",
    "Stride",
    "TFRecords",
    "Take",
    "TakeWhile",
    "Unbatch",
    "Unique",
    "Window",
    "WithOptions",
    "Zip",
    "graft",
]
