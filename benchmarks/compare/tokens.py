"""Windows of 1025 tokens from a 400 MB uint16 file, globally shuffled, batches of 32; one epoch a round.

Peers by their own best practice: PyTorch's DataLoader over a memory-map with `__getitems__` (fancy indexing of a view
of windows, one copy), `num_workers=0`. The limit: a loop of memcpy, which is our own gather kernel over the same map by
a NumPy permutation into one buffer, without an engine. A yardstick: `numpy.take` of the same. The file is warm. Law:
at least 0.6 of the limit, and ahead of PyTorch.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

TOKENS, LENGTH, BATCH = 200_000_000, 1025, 32
COUNT = TOKENS // LENGTH
Repetition = Callable[..., Any]


def corpus() -> Path:
    """The file, written once for all processes; kept for later runs."""
    path = Path(tempfile.gettempdir()) / f"penstock-tokens-{TOKENS}.bin"
    if not path.exists() or path.stat().st_size != 2 * TOKENS:
        generator = np.random.default_rng(0)
        writing = path.with_suffix(f".{os.getpid()}")
        with writing.open("wb") as file:
            for _ in range(20):
                generator.integers(0, 50_000, TOKENS // 20, dtype=np.uint16).tofile(file)
        writing.rename(path)
    return path


def _consume(epoch: Callable[[], Any], prove: bool) -> Any:
    """Tokens delivered in an epoch; to prove it, how many windows, the sum of all tokens, and of first times last."""
    if not prove:
        return sum(batch.shape[0] * LENGTH for batch in epoch())
    windows, total, first = 0, 0, 0
    for batch in epoch():
        rows = np.asarray(batch)
        windows, total = windows + len(rows), total + int(rows.sum(dtype=np.int64))
        first += int((rows[:, 0].astype(np.int64) * rows[:, -1]).sum())
    return [windows, total, first]


def penstock() -> Repetition:
    import penstock as ps

    dataset = ps.Dataset.tokens(corpus(), "uint16", LENGTH).shuffle().batch(BATCH)
    return lambda prove: _consume(lambda: dataset, prove)


def torch_loader() -> Repetition:
    import torch
    from torch.utils.data import DataLoader, Dataset

    tokens = np.memmap(corpus(), dtype=np.uint16, mode="r")
    windows = tokens[: COUNT * LENGTH].reshape(COUNT, LENGTH)

    class Windows(Dataset):
        def __len__(self) -> int:
            return COUNT

        def __getitems__(self, indices: list[int]) -> torch.Tensor:
            return torch.from_numpy(windows[indices])

    loader = DataLoader(Windows(), batch_size=BATCH, shuffle=True, num_workers=0, collate_fn=lambda batch: batch)
    return lambda prove: _consume(lambda: loader, prove)


def _by_hand(gather: Callable[[np.ndarray, np.ndarray, np.ndarray], Any]) -> Repetition:
    tokens = np.memmap(corpus(), dtype=np.uint16, mode="r")
    windows = np.asarray(tokens)[: COUNT * LENGTH].reshape(COUNT, LENGTH)
    out = np.empty((BATCH, LENGTH), np.uint16)
    generator = np.random.default_rng(1)

    def batches() -> Any:
        order = generator.permutation(COUNT)
        for start in range(0, COUNT, BATCH):
            rows = order[start : start + BATCH]
            gather(windows, rows, out[: len(rows)])
            yield out[: len(rows)]

    return lambda prove: _consume(batches, prove)


def gather() -> Repetition:
    from penstock.kernels.gather import gather_rows

    return _by_hand(lambda windows, rows, out: gather_rows(windows, rows, [out]))


def numpy_take() -> Repetition:
    return _by_hand(lambda windows, rows, out: np.take(windows, rows, axis=0, out=out, mode="clip"))


CONTENDERS = [
    Contender("penstock", "benchmarks.compare.tokens:penstock"),
    Contender("torch __getitems__", "benchmarks.compare.tokens:torch_loader"),
    Contender("numpy.take", "benchmarks.compare.tokens:numpy_take"),
    Contender("limit: gather in C", "benchmarks.compare.tokens:gather"),
]


def run(rounds: int) -> Result:
    corpus()
    what = f"windows of {LENGTH} of {TOKENS} uint16, shuffled, batch {BATCH}, one epoch a round, {rounds} rounds"
    return compare("tokens", what, interleave(CONTENDERS, rounds), "tokens/s")
