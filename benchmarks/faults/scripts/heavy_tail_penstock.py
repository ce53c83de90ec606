"""One photograph in two hundred is five hundred times larger than the rest. `python heavy_tail_penstock.py`."""

from __future__ import annotations

from accelerator import Accelerator
from photographs import photographs

import penstock as ps


def load(path):
    image = ps.io.decode_jpeg(ps.io.read_file(path), channels=3)
    return ps.image.resize(image, (128, 128))


def main() -> None:
    paths = photographs(3000, 128, 192)
    paths[100::200] = photographs(15, 3000, 4000)
    dataset = ps.Dataset.from_tensor_slices(paths)
    dataset = dataset.map(load)  # the fault
    accelerator = Accelerator(step_s=0.002)
    for batch in dataset.batch(16).prefetch():
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
