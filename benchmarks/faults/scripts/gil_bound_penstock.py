"""Texts become counts in pure Python, in threads that take turns at the GIL. `python gil_bound_penstock.py`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from accelerator import Accelerator

import penstock as ps


def count_pairs(text):
    counts = [0] * 1024
    for one, other in pairwise(text):
        counts[(one * 31 + other) % 1024] += 1
    return np.array(counts, dtype=np.float32)


def main() -> None:
    texts = [bytes(np.random.default_rng(seed).integers(97, 123, 10_000, dtype=np.uint8)) for seed in range(800)]
    dataset = ps.Dataset.from_tensor_slices(texts)
    dataset = dataset.map(count_pairs, executor="threads")  # the fault
    accelerator = Accelerator(step_s=0.004)
    for batch in dataset.batch(16).prefetch():
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
