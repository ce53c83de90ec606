"""One photograph in fifty is two hundred times larger than the rest. `python heavy_tail_torch.py`."""

from __future__ import annotations

import numpy as np
import torch
from accelerator import Accelerator
from photographs import photographs
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photographs(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):  # the fault
        image = Image.open(self.paths[index]).convert("RGB").resize((128, 128))  # the fault
        return torch.from_numpy(np.array(image))


def main() -> None:
    paths = photographs(3000, 128, 192)
    paths[25::50] = photographs(60, 2000, 3000)
    loader = DataLoader(Photographs(paths), batch_size=16, num_workers=2)  # the fault
    accelerator = Accelerator(step_s=0.005)
    for batch in loader:
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
