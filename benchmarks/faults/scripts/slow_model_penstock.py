"""Small photographs for a model that takes 80 ms: nothing of the input is to blame. `python slow_model_penstock.py`."""

from __future__ import annotations

from accelerator import Accelerator
from photographs import photographs

import penstock as ps


def load(path):
    image = ps.io.decode_jpeg(ps.io.read_file(path), channels=3)
    return ps.image.resize(image, (64, 64))


def main() -> None:
    paths = photographs(640, 96, 128)
    dataset = ps.Dataset.from_tensor_slices(paths).shuffle(seed=0)
    dataset = dataset.map(load)
    accelerator = Accelerator(step_s=0.08)
    for batch in dataset.batch(8).prefetch():
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
