"""Four shards are read in turns, and one of them lies on a slow disk. `python straggler_penstock.py`."""

from __future__ import annotations

import time

import numpy as np
from accelerator import Accelerator

import penstock as ps

SHARDS, ROWS = 4, 240


def rows(shard):
    for number in range(ROWS):
        time.sleep(0.02 if shard == 2 else 0.001)  # how long the disk takes
        yield np.full(1024, number, np.float32)


def shard_rows(shard):
    return ps.Dataset.from_generator(rows, args=(shard,), output_signature=ps.Spec((1024,), np.float32))  # the fault


def main() -> None:
    dataset = ps.Dataset.range(SHARDS)
    dataset = dataset.interleave(shard_rows, cycle_length=SHARDS, num_parallel_calls=SHARDS)  # the fault
    accelerator = Accelerator(step_s=0.02)
    for batch in dataset.batch(16).prefetch():
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
