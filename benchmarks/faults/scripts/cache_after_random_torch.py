"""What is kept is augmented already, so all epochs see the same flips. `python cache_after_random_torch.py`."""

from __future__ import annotations

import random

import numpy as np
import torch
from accelerator import Accelerator
from photographs import photographs
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photographs(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.cache = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):  # the fault
        if index not in self.cache:  # the fault
            image = np.array(Image.open(self.paths[index]).convert("RGB").resize((64, 64)))
            image = image[:, ::-1].copy() if random.random() < 0.5 else image
            self.cache[index] = torch.from_numpy(image)  # the fault
        return self.cache[index]  # the fault


def main() -> None:
    dataset = Photographs(photographs(1000, 96, 128))
    loader = DataLoader(dataset, batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)  # the fault
    accelerator = Accelerator(step_s=0.02)
    for _ in range(4):
        for batch in loader:
            accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
