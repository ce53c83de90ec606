"""Rows sorted by class stream through a buffer no larger than a batch. `python small_shuffle_buffer_penstock.py`."""

from __future__ import annotations

import numpy as np
from accelerator import Accelerator

import penstock as ps

ROWS, CLASSES = 20_000, 10


def rows():
    """As they stand in the file: one class after the other."""
    for number in range(ROWS):
        yield np.full(64, number, np.float32), number * CLASSES // ROWS


def main() -> None:
    signature = (ps.Spec((64,), np.float32), ps.Spec((), np.int64))
    dataset = ps.Dataset.from_generator(rows, output_signature=signature).assert_cardinality(ROWS)
    dataset = dataset.shuffle(64)  # the fault
    accelerator = Accelerator(step_s=0.015)
    for batch in dataset.batch(64).prefetch():
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
