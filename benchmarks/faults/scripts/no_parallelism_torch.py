"""Photographs are decoded on one core, and a model that two could feed waits. `python no_parallelism_torch.py`."""

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

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB").resize((224, 224))
        return torch.from_numpy(np.array(image))


def main() -> None:
    dataset = Photographs(photographs(400, 900, 1200))
    loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=0)  # the fault
    accelerator = Accelerator(step_s=0.07)
    for batch in loader:
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
