"""Photographs come from a bucket that gives out a hundred a second. `python slow_storage_torch.py`."""

from __future__ import annotations

import io
from urllib.request import urlopen

import numpy as np
import torch
from accelerator import Accelerator
from photographs import photographs
from PIL import Image
from slow_store import serving
from torch.utils.data import DataLoader, Dataset


class Photographs(Dataset):
    def __init__(self, urls):
        self.urls = urls

    def __len__(self):
        return len(self.urls)

    def __getitem__(self, index):  # the fault
        with urlopen(self.urls[index]) as answer:  # the fault
            data = answer.read()  # the fault
        return torch.from_numpy(np.array(Image.open(io.BytesIO(data)).convert("RGB").resize((64, 64))))


def main() -> None:
    with serving(photographs(500, 96, 128), latency_s=0.04, at_once=4) as urls:
        loader = DataLoader(Photographs(urls), batch_size=8, num_workers=4)  # the fault
        accelerator = Accelerator(step_s=0.02)
        for batch in loader:
            accelerator.step(batch)
        print(accelerator)


if __name__ == "__main__":
    main()
