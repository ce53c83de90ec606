"""The cache is after the augmentation, so all epochs see the same. `python cache_after_random_penstock.py`."""

from __future__ import annotations

from accelerator import Accelerator
from photographs import photographs

import penstock as ps


def load(path):
    image = ps.io.decode_jpeg(ps.io.read_file(path), channels=3)
    return ps.image.resize(image, (64, 64))


def augment(image):
    return ps.image.random_flip_left_right(image)


def main() -> None:
    dataset = ps.Dataset.from_tensor_slices(photographs(1000, 96, 128)).map(load).map(augment)
    dataset = dataset.cache()  # the fault
    dataset = dataset.shuffle(1000).batch(16).prefetch()
    accelerator = Accelerator(step_s=0.02)
    for _ in range(4):
        for batch in dataset:
            accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
