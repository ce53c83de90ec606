"""Photographs, augmented and in good time, for a model of two layers. `python healthy_torch.py`."""

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

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = np.array(Image.open(self.paths[index]).convert("RGB").resize((64, 64)), dtype=np.float32) / 255
        image = image[:, ::-1].copy() if random.random() < 0.5 else image
        return torch.from_numpy(image), index % 10


def main() -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64 * 64 * 3, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(
        Photographs(photographs(640, 128, 192)), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True
    )
    accelerator = Accelerator(step_s=0.08)
    for _ in range(2):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            accelerator.step(images)
    print(accelerator)


if __name__ == "__main__":
    main()
