"""The four loads, for Penstock and for tf.data, endless: each returns a dataset and how many elements a step has.

images: JPEGs of 500 x 375 decoded and resized, batches of 32. records: Examples of 39 features parsed, batches of 256.
latency: objects of 60 KB behind 30 ms, from a server in its own process, batches of 32; tf.data has no HTTP, so there a
Python function reads, over a connection of each thread. tail: a Python function that sleeps 1 ms, one element in fifty
20 ms, batches of 32.

In tf.data `calls` and `ahead` are its `num_parallel_calls` and `prefetch`; a setting that stays has as many threads.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.compare.examples import FLOATS, INTS, corpus
from benchmarks.compare.image_corpus import SMALL, listing
from benchmarks.compare.object_server import SIZE

OBJECTS = 2000
SIDE = 224
SHORT_S, LONG_S, ONE_IN = 0.001, 0.020, 50
STEP = {"images": 32, "records": 256, "latency": 32, "tail": 32}
NAMES = tuple(STEP)


def slept(number: Any) -> np.int64:
    """What an element of `tail` costs: known by its number, so that every run has the same."""
    time.sleep(LONG_S if int(number) * 7919 % ONE_IN == 0 else SHORT_S)
    return np.int64(int(number))


def penstock(name: str, port: str) -> Any:
    """The pipeline as one would write it; nothing about tuning is said."""
    import penstock as ps

    if name == "images":
        paths = listing(SMALL)[0]

        def load(path: Any) -> Any:
            return ps.image.resize(ps.io.decode_jpeg(ps.io.read_file(path), channels=3), (SIDE, SIDE))

        return ps.Dataset.from_tensor_slices(paths).repeat().map(load).batch(32)
    if name == "records":
        features = {key: ps.io.FixedLenFeature([], np.float32) for key in FLOATS}
        features |= {key: ps.io.FixedLenFeature([], np.int64) for key in INTS}
        records = ps.TFRecordDataset(corpus()).repeat()
        return records.map(lambda record: ps.io.parse_single_example(record, features)).batch(256)
    if name == "latency":
        urls = [f"http://127.0.0.1:{port}/{number}" for number in range(OBJECTS)]
        return ps.Dataset.from_tensor_slices(urls).repeat().map(ps.io.read_file).batch(32)
    return ps.Dataset.range(10**9).map(slept, executor="threads").batch(32)


def tf_data(name: str, port: str, calls: int, ahead: int) -> Any:
    """The same in tf.data."""
    import tensorflow as tf

    data = tf.data.Dataset
    if name == "images":

        def load(path: Any) -> Any:
            return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (SIDE, SIDE))

        paths = listing(SMALL)[0]
        made = data.from_tensor_slices(paths).repeat().map(load, num_parallel_calls=calls).batch(32)
    elif name == "records":
        features = {key: tf.io.FixedLenFeature([], tf.float32) for key in FLOATS}
        features |= {key: tf.io.FixedLenFeature([], tf.int64) for key in INTS}
        made = (
            data.from_tensor_slices(corpus())
            .interleave(tf.data.TFRecordDataset, num_parallel_calls=calls)
            .repeat()
            .batch(256)
            .map(lambda batch: tf.io.parse_example(batch, features), num_parallel_calls=calls)
        )
    elif name == "latency":
        read = _reader(port)
        made = (
            data.range(10**9).map(lambda n: tf.numpy_function(read, [n], tf.string), num_parallel_calls=calls).batch(32)
        )
    else:
        made = (
            data.range(10**9).map(lambda n: tf.numpy_function(slept, [n], tf.int64), num_parallel_calls=calls).batch(32)
        )
    return made.prefetch(ahead) if ahead else made


def _reader(port: str) -> Callable[[Any], bytes]:
    local = threading.local()

    def read(number: Any) -> bytes:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection("127.0.0.1", int(port))
        local.connection.request("GET", f"/{int(number) % OBJECTS}")
        content: bytes = local.connection.getresponse().read()
        assert len(content) == SIZE
        return content

    return read
