"""TFRecord shards of tf.train.Examples (13 float32, 26 int64), shuffled, parsed, batches of 1024; one epoch a round.

Peers by their own best practice: tf.data with its files interleaved, `shuffle(10_000)`, `parse_example` on batches, all
AUTOTUNE, out of order. Penstock streamed: the same verbs; by index: all records permuted, and parsed one by one, which
is one native pass a block, into the batch. The limit: our parse alone, of batches that lie in memory, one thread. The
files are warm. Law: at least 5 times tf.data.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

SHARDS, RECORDS, BATCH, BUFFER = 8, 25_000, 1024, 10_000
FLOATS = [f"float_{number}" for number in range(13)]
INTS = [f"int_{number}" for number in range(26)]
Repetition = Callable[..., Any]


def corpus() -> list[str]:
    """The shards, written once for all processes; kept for later runs."""
    from penstock import io

    folder = Path(tempfile.gettempdir()) / f"penstock-examples-{SHARDS}x{RECORDS}"
    paths = [folder / f"{number}.tfrecord" for number in range(SHARDS)]
    folder.mkdir(exist_ok=True)
    for number, path in enumerate(paths):
        if path.exists():
            continue
        generator = np.random.default_rng(number)
        floats = generator.standard_normal((RECORDS, len(FLOATS)), dtype=np.float32)
        ints = generator.integers(0, 10 ** generator.integers(1, 7, len(INTS)), (RECORDS, len(INTS)))
        writing = path.with_suffix(f".{os.getpid()}")
        with io.TFRecordWriter(str(writing)) as writer:
            for row in range(RECORDS):
                values = dict(zip(FLOATS, floats[row], strict=True)) | dict(zip(INTS, ints[row], strict=True))
                writer.write(io.serialize_example(values))
        writing.rename(path)
    return [str(path) for path in paths]


def _consume(epoch: Callable[[], Any], prove: bool) -> Any:
    """Records delivered in an epoch; to prove it, how many, and the sums of what they hold, in any order."""
    if not prove:
        return sum(len(batch["int_0"]) for batch in epoch())
    count, floats, ints = 0, 0, 0
    for batch in epoch():
        count += len(batch["int_0"])
        floats += sum(int(np.asarray(batch[name]).view(np.int32).sum(dtype=np.int64)) for name in FLOATS)
        ints += sum(int(np.asarray(batch[name]).sum()) * (place + 1) for place, name in enumerate(INTS))
    return [count, floats, ints]


def _features() -> dict[str, Any]:
    from penstock import io

    floats = {name: io.FixedLenFeature([], np.float32) for name in FLOATS}
    return floats | {name: io.FixedLenFeature([], np.int64) for name in INTS}


def streamed() -> Repetition:
    import penstock as ps

    features = _features()
    dataset = (
        ps.Dataset.from_tensor_slices(corpus())
        .interleave(ps.TFRecordDataset, cycle_length=SHARDS, num_parallel_calls=ps.AUTOTUNE)
        .shuffle(BUFFER)
        .batch(BATCH)
        .map(lambda batch: ps.io.parse_example(batch, features))
    )
    return lambda prove: _consume(lambda: dataset, prove)


def by_index() -> Repetition:
    import penstock as ps

    features = _features()
    records = ps.TFRecordDataset(corpus()).shuffle()
    dataset = records.map(lambda record: ps.io.parse_single_example(record, features)).batch(BATCH)
    return lambda prove: _consume(lambda: dataset, prove)


def tf_data() -> Repetition:
    import tensorflow as tf

    floats = {name: tf.io.FixedLenFeature([], tf.float32) for name in FLOATS}
    features = floats | {name: tf.io.FixedLenFeature([], tf.int64) for name in INTS}
    dataset = (
        tf.data.Dataset.from_tensor_slices(corpus())
        .interleave(
            tf.data.TFRecordDataset, cycle_length=SHARDS, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False
        )
        .shuffle(BUFFER)
        .batch(BATCH)
        .map(lambda batch: tf.io.parse_example(batch, features), num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda prove: _consume(lambda: dataset, prove)


def parse_alone() -> Repetition:
    import penstock as ps

    features = _features()
    batches = list(ps.TFRecordDataset(corpus()).batch(BATCH))
    return lambda prove: _consume(lambda: (ps.io.parse_example(batch, features) for batch in batches), prove)


CONTENDERS = [
    Contender("penstock by index", "benchmarks.compare.examples:by_index"),
    Contender("penstock streamed", "benchmarks.compare.examples:streamed"),
    Contender("tf.data", "benchmarks.compare.examples:tf_data"),
    Contender("limit: parse_example alone", "benchmarks.compare.examples:parse_alone"),
]


def run(rounds: int) -> Result:
    corpus()
    what = f"{SHARDS * RECORDS} Examples of 39 features, shuffled, batch {BATCH}, one epoch a round, {rounds} rounds"
    return compare("examples", what, interleave(CONTENDERS, rounds), "records/s")
