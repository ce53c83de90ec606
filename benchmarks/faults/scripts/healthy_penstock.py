"""Photographs, augmented and in good time. `python healthy_penstock.py`."""

from __future__ import annotations

from accelerator import Accelerator
from photographs import photographs

import penstock as ps


def load(path, label):
    image = ps.io.decode_jpeg(ps.io.read_file(path), channels=3)
    return ps.image.resize(image, (128, 128)), label


def augment(image, label):
    return ps.image.random_flip_left_right(image) / 255.0, label


def main() -> None:
    paths = photographs(640, 128, 192)
    labels = [number % 10 for number in range(len(paths))]
    dataset = ps.Dataset.from_tensor_slices((paths, labels)).shuffle().map(load).map(augment).batch(16).prefetch()
    accelerator = Accelerator(step_s=0.08)
    for _ in range(2):
        for batch in dataset:
            accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
