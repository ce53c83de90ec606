"""Raw reads of 200,000 small records in 8 TFRecord shards, checksums compared, batches of 1024; one epoch a round.

The records are of the size of an Example of 13 floats and 26 integers. tf.data by its best practice: an interleave
of all shards, read with AUTOTUNE, batched, prefetched; it compares checksums too. Ours: the shards one after another,
all of them in turns (the order of tf.data's interleave), and shuffled as a whole by the index. The limit: our kernel
alone over the mapped shards, which finds and checks the records and makes no element of them. Files are warm. Law: at
least 3 times tf.data.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

COUNT, SHARDS, BATCH = 200_000, 8, 1024
Repetition = Callable[..., Any]


def corpus() -> list[str]:
    """The shards, written once for all processes; kept for later runs."""
    folder = Path(tempfile.gettempdir()) / f"penstock-records-{COUNT}-{SHARDS}"
    if not folder.exists():
        from penstock.io import TFRecordWriter

        writing = folder.with_suffix(f".{os.getpid()}")
        writing.mkdir()
        generator = np.random.default_rng(0)
        for shard in range(SHARDS):
            with TFRecordWriter(writing / f"{shard:05}-of-{SHARDS:05}.tfrecord") as writer:
                for size in generator.integers(500, 700, COUNT // SHARDS).tolist():
                    writer.write(generator.bytes(size))
        writing.rename(folder)
    return sorted(str(path) for path in folder.iterdir())


def _consume(epoch: Callable[[], Iterable[np.ndarray]], prove: bool) -> Any:
    """Records delivered; to prove it, how many, their bytes, and the sum of their checksums, whatever their order."""
    if not prove:
        return sum(len(batch) for batch in epoch())
    records = [record for batch in epoch() for record in batch]
    return [len(records), sum(map(len, records)), sum(map(zlib.crc32, records))]


def in_order() -> Repetition:
    import penstock as ps

    dataset = ps.TFRecordDataset(corpus()).batch(BATCH)
    return lambda prove: _consume(lambda: dataset, prove)


def in_turns() -> Repetition:
    import penstock as ps

    dataset = ps.TFRecordDataset(corpus(), num_parallel_reads=SHARDS).batch(BATCH)
    return lambda prove: _consume(lambda: dataset, prove)


def shuffled() -> Repetition:
    import penstock as ps

    dataset = ps.TFRecordDataset(corpus()).shuffle().batch(BATCH)
    return lambda prove: _consume(lambda: dataset, prove)


def tf_data() -> Repetition:
    import tensorflow as tf

    dataset = (
        tf.data.TFRecordDataset(corpus(), num_parallel_reads=tf.data.AUTOTUNE).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    )
    return lambda prove: _consume(dataset.as_numpy_iterator, prove)


def kernel() -> Repetition:
    from penstock.kernels.record import scan_records

    shards = [np.memmap(path, dtype=np.uint8, mode="r") for path in corpus()]

    def repetition(prove: bool) -> Any:
        found = [(shard, scan_records(shard, len(shard), verify=True, skips=False)) for shard in shards]
        if not prove:
            return sum(len(each.starts) for _, each in found)
        return _consume(
            lambda: [
                np.array([shard[a:b].tobytes() for a, b in zip(each.starts, each.stops, strict=True)], dtype=object)
                for shard, each in found
            ],
            prove,
        )

    return repetition


CONTENDERS = [
    Contender("penstock", "benchmarks.compare.records:in_order"),
    Contender("penstock, in turns", "benchmarks.compare.records:in_turns"),
    Contender("penstock, shuffled", "benchmarks.compare.records:shuffled"),
    Contender("tf.data", "benchmarks.compare.records:tf_data"),
    Contender("limit: the kernel alone", "benchmarks.compare.records:kernel"),
]


def run(rounds: int) -> Result:
    corpus()
    what = f"{COUNT} records in {SHARDS} shards, checked, batch {BATCH}, one epoch a round, {rounds} rounds"
    return compare("records", what, interleave(CONTENDERS, rounds), "records/s")
