"""Small photographs for a model that takes 80 ms: nothing of the input is to blame. `python slow_model_torch.py`."""

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
        image = Image.open(self.paths[index]).convert("RGB").resize((64, 64))
        return torch.from_numpy(np.array(image))


def main() -> None:
    dataset = Photographs(photographs(640, 96, 128))
    loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=2)
    accelerator = Accelerator(step_s=0.08)
    for batch in loader:
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
