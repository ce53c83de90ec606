"""Each worker reads a shard of its own, and one of them lies on a slow disk. `python straggler_torch.py`."""

from __future__ import annotations

import time

import torch
from accelerator import Accelerator
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

ROWS = 320


class Shards(IterableDataset):
    def __iter__(self):  # the fault
        shard = get_worker_info().id
        for number in range(ROWS):
            time.sleep(0.02 if shard == 1 else 0.001)  # how long the disk takes
            yield torch.full((1024,), float(number))


def main() -> None:
    loader = DataLoader(Shards(), batch_size=16, num_workers=3)  # the fault
    accelerator = Accelerator(step_s=0.02)
    for batch in loader:
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
