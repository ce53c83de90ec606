"""Penstock keeps accelerators fed: tf.data's verbs for TensorFlow, Keras, PyTorch and JAX alike.

import penstock as ps

dataset = (
    ps.Dataset.from_folder("photos")
    .shuffle()
    .map(lambda path, label: (ps.image.resize(ps.io.decode_jpeg(ps.io.read_file(path)), (224, 224)), label))
    .batch(64)
)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock import errors, image, io, text, train
    from penstock.block.ragged import Ragged
    from penstock.block.spec import RaggedSpec, Spec
    from penstock.dataset import Dataset
    from penstock.diagnose import diagnose
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
    from penstock.probes.watch import watch
    from penstock.readers import CsvDataset, FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
    from penstock.rng import Rng
    from penstock.session.frozen import freeze
    from penstock.session.replay import replay
    from penstock.trace.demand import function
    from penstock.tuned import FrozenTuning
    from penstock.verbs.saving import export, load
    from penstock.verbs.source import Source

    TensorSpec = Spec

__version__ = "0.1.0"

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
"""As tf.data has them: of an endless dataset, and of one that knows its end only when it is there."""

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
    "FrozenTuning",
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
    "diagnose",
    "errors",
    "export",
    "freeze",
    "function",
    "gather",
    "image",
    "io",
    "load",
    "one_hot",
    "replay",
    "text",
    "train",
    "watch",
]

_HOMES = {
    "penstock.block.ragged": "Ragged",
    "penstock.block.spec": "RaggedSpec Spec TensorSpec",
    "penstock.dataset": "Dataset",
    "penstock.diagnose": "diagnose",
    "penstock.ops.math": "cast gather one_hot",
    "penstock.options": (
        "AUTOTUNE AutoShardPolicy AutotuneOptions DistributeOptions Options RemoteOptions Retry ThreadingOptions"
    ),
    "penstock.probes.watch": "watch",
    "penstock.readers": "CsvDataset FixedLengthRecordDataset TFRecordDataset TextLineDataset",
    "penstock.rng": "Rng",
    "penstock.session.frozen": "freeze",
    "penstock.session.replay": "replay",
    "penstock.trace.demand": "function",
    "penstock.tuned": "FrozenTuning",
    "penstock.verbs.saving": "export load",
    "penstock.verbs.source": "Source",
}
_ALIASES = {"TensorSpec": "Spec"}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: a script that only might use Penstock starts at once."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), _ALIASES.get(name, name))
    elif name in __all__:
        value = import_module(f"penstock.{name}")
    else:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
