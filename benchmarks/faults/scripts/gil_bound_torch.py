"""Texts become counts in pure Python, in threads that take turns at the GIL. `python gil_bound_torch.py`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import torch
from accelerator import Accelerator
from torch.utils.data import DataLoader, Dataset


def count_pairs(text):  # the fault
    counts = [0] * 1024
    for one, other in pairwise(text):
        counts[(one * 31 + other) % 1024] += 1
    return torch.tensor(counts, dtype=torch.float32)


class Texts(Dataset):
    """Gives a whole batch at once, made by a pool of threads."""

    def __init__(self, texts):
        self.texts = texts
        self.pool = ThreadPoolExecutor(4)

    def __len__(self):
        return len(self.texts)

    def __getitems__(self, indices):  # the fault
        return list(self.pool.map(count_pairs, [self.texts[index] for index in indices]))  # the fault


def main() -> None:
    texts = [bytes(np.random.default_rng(seed).integers(97, 123, 10_000, dtype=np.uint8)) for seed in range(800)]
    loader = DataLoader(Texts(texts), batch_size=16)  # the fault
    accelerator = Accelerator(step_s=0.004)
    for batch in loader:
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
