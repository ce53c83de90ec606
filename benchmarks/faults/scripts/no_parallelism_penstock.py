"""Photographs are decoded on one core, and a model that two could feed waits. `python no_parallelism_penstock.py`."""

from __future__ import annotations

from accelerator import Accelerator
from photographs import photographs

import penstock as ps


def load(path):
    image = ps.io.decode_jpeg(ps.io.read_file(path), channels=3)
    return ps.image.resize(image, (224, 224))


def main() -> None:
    paths = photographs(400, 1200, 1600)
    dataset = ps.Dataset.from_tensor_slices(paths).shuffle(seed=0)
    dataset = dataset.map(load, num_parallel_calls=1)  # the fault
    accelerator = Accelerator(step_s=0.045)
    for batch in dataset.batch(8).prefetch():
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
