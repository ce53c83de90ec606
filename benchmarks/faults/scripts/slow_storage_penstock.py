"""Photographs come from a bucket that gives out a hundred a second. `python slow_storage_penstock.py`."""

from __future__ import annotations

from accelerator import Accelerator
from photographs import photographs
from slow_store import serving

import penstock as ps


def load(url):
    image = ps.io.decode_jpeg(ps.io.read_file(url), channels=3)
    return ps.image.resize(image, (64, 64))


def main() -> None:
    with serving(photographs(500, 96, 128), latency_s=0.04, at_once=4) as urls:
        dataset = ps.Dataset.from_tensor_slices(urls)
        dataset = dataset.map(load)  # the fault
        accelerator = Accelerator(step_s=0.02)
        for batch in dataset.batch(8).prefetch():
            accelerator.step(batch)
        print(accelerator)


if __name__ == "__main__":
    main()
