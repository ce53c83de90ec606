"""Rows sorted by class stream through a buffer no larger than a batch. `python small_shuffle_buffer_torch.py`."""

from __future__ import annotations

import random

import torch
from accelerator import Accelerator
from torch.utils.data import DataLoader, IterableDataset

ROWS, CLASSES = 20_000, 10


class Shuffled(IterableDataset):
    """Rows as they stand in the file, one class after the other, mixed within a buffer."""

    def __init__(self, buffer_size):
        self.buffer_size = buffer_size

    def __iter__(self):  # the fault
        buffer = []
        for number in range(ROWS):
            row = torch.full((64,), float(number)), number * CLASSES // ROWS
            if len(buffer) < self.buffer_size:
                buffer.append(row)
                continue
            place = random.randrange(self.buffer_size)
            yield buffer[place]
            buffer[place] = row
        random.shuffle(buffer)
        yield from buffer


def main() -> None:
    dataset = Shuffled(buffer_size=64)  # the fault
    loader = DataLoader(dataset, batch_size=64, num_workers=1)  # the fault
    accelerator = Accelerator(step_s=0.02)
    for batch in loader:
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
