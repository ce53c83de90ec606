"""The next batch is begun when it is asked for, so model and input take turns. `python no_prefetch_penstock.py`."""

from __future__ import annotations

from accelerator import Accelerator
from photographs import photographs

import penstock as ps


def load(path):
    image = ps.io.decode_jpeg(ps.io.read_file(path), channels=3)
    return ps.image.resize(image, (224, 224))


def main() -> None:
    paths = photographs(2000, 300, 400)
    dataset = ps.Dataset.from_tensor_slices(paths).shuffle(seed=0)
    dataset = dataset.map(load).batch(16)
    dataset = dataset.with_options(ps.Options(executor="inline"))  # the fault
    accelerator = Accelerator(step_s=0.03)
    for batch in dataset:
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
