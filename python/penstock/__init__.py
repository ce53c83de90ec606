"""Penstock keeps accelerators fed: tf.data's verbs for TensorFlow, Keras, PyTorch and JAX alike.

import penstock as ps

dataset = (
    ps.Dataset.from_folder("photos")
    .shuffle()
    .map(lambda path, label: (ps.image.resize(ps.io.decode_jpeg(ps.io.read_file(path)), (224, 224)), label))
    .batch(64)
)
"""

from penstock import errors, image, io, text
from penstock.block.ragged import Ragged
from penstock.block.spec import RaggedSpec, Spec
from penstock.dataset import Dataset
from penstock.graph.node import INFINITE as INFINITE_CARDINALITY
from penstock.graph.node import UNKNOWN as UNKNOWN_CARDINALITY
from penstock.ops.math import cast, gather, one_hot
from penstock.options import (
    AUTOTUNE,
    AutoShardPolicy,
    AutotuneOptions,
    DistributeOptions,
    Options,
    RemoteOptions,
    Retry,
    ThreadingOptions,
)
from penstock.readers import CsvDataset, FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from penstock.rng import Rng
from penstock.trace.demand import function
from penstock.verbs.saving import export, load
from penstock.verbs.source import Source

TensorSpec = Spec
__version__ = "0.1.0"

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "CsvDataset",
    "Dataset",
    "DistributeOptions",
    "FixedLengthRecordDataset",
    "Options",
    "Ragged",
    "RaggedSpec",
    "RemoteOptions",
    "Retry",
    "Rng",
    "Source",
    "Spec",
    "TFRecordDataset",
    "TensorSpec",
    "TextLineDataset",
    "ThreadingOptions",
    "cast",
    "errors",
    "export",
    "function",
    "gather",
    "image",
    "io",
    "load",
    "one_hot",
    "text",
]
