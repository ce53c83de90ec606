"""Sequences packed first-fit into rows of 2048 tokens, beside Grain: the same rows, proven by their digest.

20,000 sequences of lognormal length (mean 385), int32, in memory; 64 open bins. tokens/s counts tokens that went in.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

COUNT, LENGTH, BINS = 20_000, 2048, 64
KEYS = ("tokens", "tokens_segment_ids", "tokens_positions")


@functools.cache
def corpus() -> list[dict[str, np.ndarray]]:
    """The same sequences in every process."""
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(5.5, 1.0, COUNT).astype(int), 1, LENGTH)
    return [{"tokens": rng.integers(1, 50_000, size, dtype=np.int32)} for size in sizes.tolist()]


def _repetition(epoch: Callable[[], Iterable[Any]]) -> Callable[[bool], Any]:
    tokens = sum(len(element["tokens"]) for element in corpus())

    def repeat(prove: bool) -> Any:
        if not prove:
            for _ in epoch():
                pass
            return tokens
        digest = 0
        for element in epoch():
            for key in KEYS:
                digest = zlib.crc32(np.ascontiguousarray(element[key]), digest)
        return digest

    return repeat


def penstock() -> Callable[[bool], Any]:
    import penstock as ps

    return _repetition(lambda: ps.Dataset.from_source(corpus()).pack(LENGTH, num_packing_bins=BINS))


def grain() -> Callable[[bool], Any]:
    import grain

    source = grain.MapDataset.source(corpus())
    return _repetition(
        lambda: grain.experimental.FirstFitPackIterDataset(
            source.to_iter_dataset(), length_struct={"tokens": LENGTH}, num_packing_bins=BINS, shuffle_bins=False
        )
    )


def run(rounds: int) -> Result:
    contenders = [Contender(name, f"benchmarks.compare.packing:{name}") for name in ("penstock", "grain")]
    what = f"{COUNT} sequences into rows of {LENGTH} tokens, first fit, {BINS} bins, {rounds} rounds"
    return compare("packing", what, interleave(contenders, rounds), "tokens/s")
