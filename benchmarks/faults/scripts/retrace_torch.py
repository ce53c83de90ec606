"""Each batch is as long as its longest text, and torch.compile compiles anew for each. `python retrace_torch.py`."""

from __future__ import annotations

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        length = int(torch.randint(8, 200, (1,), generator=generator))
        return torch.randint(1, 256, (length,), generator=generator)


def pad(texts):
    return pad_sequence(texts, batch_first=True)  # the fault


def main() -> None:
    model = torch.nn.Sequential(torch.nn.Embedding(256, 64), torch.nn.Linear(64, 64), torch.nn.Tanh())
    compiled = torch.compile(model, backend="aot_eager", dynamic=False)  # the fault
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Texts(), batch_size=8, num_workers=1, collate_fn=pad)  # the fault
    for tokens in loader:
        loss = compiled(tokens).square().mean()  # the fault
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
