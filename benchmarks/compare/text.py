"""Lines of text: lower, split, look up in 20,000 words, batches by length, padded; one epoch a round.

The text is drawn by Zipf's law from 60,000 words, 4 to 30 of them a line, 20 MB of it (`PENSTOCK_TEXT_MB` for more);
the vocabulary holds the 20,000 that come most. tf.data by its best practice: lines in batches of 1024, tf.strings and a
StaticHashTable on whole batches, AUTOTUNE, then rows bucketed by length; and written per line, as tutorials do, over a
20th of the lines. Plain Python: a loop over the file, `lower().split()`, a dict, NumPy for the padding. Law: at least
15 times tf.data's best and 2 times plain Python.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

MEGABYTES = int(os.environ.get("PENSTOCK_TEXT_MB", "20"))
WORDS, KNOWN, SHARE = 60_000, 20_000, 20
BOUNDARIES = [8, 12, 16, 20, 24, 28]
SIZES = [64] * 7
Repetition = Callable[..., Any]


@cache
def corpus() -> tuple[Path, Path, int]:
    """The text, the vocabulary and how many lines there are; written once for all processes, kept for later runs."""
    folder = Path(tempfile.gettempdir()) / f"penstock-text-{MEGABYTES}"
    text, vocabulary, count = folder / "lines.txt", folder / "vocabulary.txt", folder / "count"
    if not count.exists():
        folder.mkdir(exist_ok=True)
        generator = np.random.default_rng(0)
        letters = np.array(list("etaoinshrdlcumwfgypbvk"))
        lengths = generator.integers(1, 10, WORDS) + (np.arange(WORDS) > 100) * 2
        words = list(dict.fromkeys("".join(generator.choice(letters, n)) for n in lengths))
        weights = 1 / np.arange(1, len(words) + 1)
        lines = written = 0
        with text.open("w") as file:
            while written < MEGABYTES * 10**6:
                chosen = generator.choice(len(words), 200_000, p=weights / weights.sum()).tolist()
                sizes = generator.integers(4, 31, 20_000).tolist()
                start = 0
                for size in sizes:
                    if start + size > len(chosen):
                        break
                    line = " ".join([words[number] for number in chosen[start : start + size]]).capitalize()
                    file.write(line + "\n")
                    lines, written, start = lines + 1, written + len(line) + 1, start + size
        vocabulary.write_text("".join(f"{word}\n" for word in words[:KNOWN]))
        count.write_text(str(lines))
    return text, vocabulary, int(count.read_text())


def _repetition(batches_of: Callable[[str], Callable[[], Iterable[Any]]], share: bool = False) -> Repetition:
    """Lines delivered of all, or of a 20th; to prove it, of the 20th, every byte of every batch."""
    text, _, lines = corpus()
    part = text.with_name("part.txt")
    if not part.exists():
        with text.open("rb") as file:
            part.write_bytes(b"".join(next(file) for _ in range(lines // SHARE)))
    proving, timed = batches_of(str(part)), batches_of(str(part if share else text))

    def repetition(prove: bool) -> Any:
        if not prove:
            for _ in timed():
                pass
            return lines // SHARE if share else lines
        rows = content = 0
        for batch in proving():
            ids = np.ascontiguousarray(batch, dtype=np.int64)
            rows, content = rows + len(ids), zlib.crc32(ids.tobytes(), zlib.crc32(repr(ids.shape).encode(), content))
        return [rows, content]

    return repetition


def penstock() -> Repetition:
    import penstock as ps

    known = ps.text.Vocabulary.from_file(corpus()[1])

    def batches_of(text: str) -> Callable[[], Any]:
        dataset = (
            ps.TextLineDataset(text)
            .map(lambda line: ps.text.lookup(ps.text.split(ps.text.lower(line)), known, oov=KNOWN))
            .bucket_by_sequence_length(len, BOUNDARIES, SIZES, padding_values=-1)
        )
        return lambda: dataset

    return _repetition(batches_of)


def plain_python() -> Repetition:
    table = {word: number for number, word in enumerate(corpus()[1].read_bytes().split())}
    limits = np.array(BOUNDARIES)
    bucket_of = [int(np.searchsorted(limits, n, side="right")) for n in range(64)]

    def batches(text: str) -> Iterator[np.ndarray]:
        held: list[list[list[int]]] = [[] for _ in SIZES]
        with open(text, "rb") as file:
            for line in file:
                row = [table.get(word, KNOWN) for word in line.lower().split()]
                rows = held[bucket_of[len(row)]]
                rows.append(row)
                if len(rows) == SIZES[0]:
                    yield _padded(rows)
                    rows.clear()
        yield from (_padded(rows) for rows in held if rows)

    return _repetition(lambda text: lambda: batches(text))


def _padded(rows: list[list[int]]) -> np.ndarray:
    out = np.full((len(rows), max(map(len, rows))), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        out[place, : len(row)] = row
    return out


def _table() -> Any:
    import tensorflow as tf

    initializer = tf.lookup.TextFileInitializer(
        str(corpus()[1]), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    )
    return tf.lookup.StaticHashTable(initializer, KNOWN)


def _bucketed(rows: Any) -> Callable[[], Any]:
    import tensorflow as tf

    dataset = rows.bucket_by_sequence_length(
        tf.size, BOUNDARIES, SIZES, padded_shapes=[None], padding_values=tf.constant(-1, tf.int64)
    )
    return dataset.prefetch(tf.data.AUTOTUNE).as_numpy_iterator  # type: ignore[no-any-return]  # TensorFlow has no types


def tf_vectorised() -> Repetition:
    import tensorflow as tf

    table = _table()

    def transform(batch: Any) -> Any:
        return tf.ragged.map_flat_values(table.lookup, tf.strings.split(tf.strings.lower(batch)))

    def batches_of(text: str) -> Callable[[], Any]:
        lines = tf.data.TextLineDataset(text).batch(1024)
        words = lines.map(transform, num_parallel_calls=tf.data.AUTOTUNE).unbatch()
        return _bucketed(words.map(lambda row: row))  # a row of a ragged batch, as a tensor

    return _repetition(batches_of)


def tf_per_line() -> Repetition:
    import tensorflow as tf

    table = _table()

    def transform(line: Any) -> Any:
        return table.lookup(tf.strings.split(tf.strings.lower(line)))

    def batches_of(text: str) -> Callable[[], Any]:
        return _bucketed(tf.data.TextLineDataset(text).map(transform, num_parallel_calls=tf.data.AUTOTUNE))

    return _repetition(batches_of, share=True)


CONTENDERS = [
    Contender("penstock", "benchmarks.compare.text:penstock"),
    Contender("tf.data, vectorised", "benchmarks.compare.text:tf_vectorised"),
    Contender("tf.data, per line", "benchmarks.compare.text:tf_per_line"),
    Contender("plain Python, one process", "benchmarks.compare.text:plain_python"),
]


def run(rounds: int) -> Result:
    _, _, lines = corpus()
    what = f"{lines} lines of {MEGABYTES} MB: lower, split, look up, buckets of 64, one epoch a round, {rounds} rounds"
    return compare("text", what, interleave(CONTENDERS, rounds), "lines/s")
