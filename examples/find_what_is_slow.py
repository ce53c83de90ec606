"""Ask what holds a training loop back, mend that, ask again. `python examples/find_what_is_slow.py`.

Each record comes from storage that answers after 4 ms; the model takes 10 ms for a batch of eight. Read one at a time,
the input takes three times as long as the model. The diagnosis names the line, and what to write there.
"""

from __future__ import annotations

import time

import numpy as np

import penstock as ps
from penstock.diagnose import Diagnosis

RECORDS, BATCH, STEP_S = 320, 8, 0.010


def read(number):
    time.sleep(0.004)  # how long the storage takes
    return np.full(64, number, np.float32)


def train(dataset: ps.Dataset) -> Diagnosis:
    """A training loop, and what its iterator says of it."""
    with dataset.iterator() as batches:
        for _ in batches:
            time.sleep(STEP_S)  # the model
        return batches.diagnose()


def main() -> list[Diagnosis]:
    """Before, and after."""
    numbers = ps.Dataset.range(RECORDS)
    before = train(numbers.map(read, num_parallel_calls=1).batch(BATCH).prefetch())
    print(before)
    after = train(numbers.map(read, num_parallel_calls=16).batch(BATCH).prefetch())
    print(f"\nAfter: {after.line}")
    return [before, after]


if __name__ == "__main__":
    main()
