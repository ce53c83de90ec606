"""Whether copies to a GPU hide behind its work: ready batches of 64x224x224x3 float32, and a step of matrix products.

Ours (`to_torch(device="cuda")`, `to_jax()`) beside the usual loop (`DataLoader(pin_memory=True)` with
`.to("cuda", non_blocking=True)`; `jax.device_put`), and the two limits: the step alone, on a batch that stays on the
device, and copying alone. What hides entirely takes the longer of these two. Rounds are interleaved; the medians are of
milliseconds a batch; all contenders add up the same numbers of each batch.

    python benchmarks/gpu/feed.py torch            # needs Penstock's wheel and PyTorch
    python benchmarks/gpu/feed.py jax --work 80
    python benchmarks/gpu/feed.py torch --dry-run  # small, on the CPU: whether it runs, no figures
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import penstock as ps

Epoch = Callable[[], float]  # the sum that proves what was read


def ready(batches: int, side: int) -> np.ndarray:
    """As many different batches as are read in an epoch, in ordinary memory."""
    made = np.zeros((batches, 64, side, side, 3), np.float32)
    made[:, :, 0, 0, 0] = np.arange(batches * 64).reshape(batches, 64)
    return made


def torch_epochs(batches: np.ndarray, work: int, width: int, is_dry: bool) -> dict[str, Epoch]:
    import torch
    from torch.utils.data import DataLoader, IterableDataset

    if not is_dry and not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU here; --dry-run tries the script on the CPU")
    device = torch.device("cpu" if is_dry else "cuda")
    weights = torch.eye(width, device=device, dtype=torch.float32 if is_dry else torch.bfloat16)

    def step(batch: Any) -> Any:
        state = weights * 0 + batch[0, 0, 0, 0]
        for _ in range(work):
            state = state @ weights
        return batch[:, 0, 0, 0].sum() + 0 * state[0, 0]

    def run(batches: Iterable[Any], does_work: bool = True) -> float:
        total = torch.zeros((), device=device)
        for batch in batches:
            total += step(batch) if does_work else batch[:, 0, 0, 0].sum()
        return float(total)  # waits for the device

    class Arrays(IterableDataset[Any]):
        def __iter__(self) -> Any:
            return (torch.from_numpy(batch) for batch in batches)

    loader = DataLoader(Arrays(), batch_size=None, pin_memory=not is_dry)
    ours = ps.Dataset.from_tensor_slices(batches).to_torch(device=None if is_dry else device)
    resident = torch.from_numpy(batches[0]).to(device)
    return {
        "to_torch": lambda: run(ours),
        "DataLoader, non_blocking": lambda: run(batch.to(device, non_blocking=True) for batch in loader),
        "the step alone": lambda: run([resident] * len(batches)),
        "to_torch, no step": lambda: run(ours, does_work=False),
        "DataLoader, no step": lambda: run((b.to(device, non_blocking=True) for b in loader), does_work=False),
    }


def jax_epochs(batches: np.ndarray, work: int, width: int, is_dry: bool) -> dict[str, Epoch]:
    import jax
    import jax.numpy as jnp

    if not is_dry and jax.default_backend() == "cpu":
        sys.exit("JAX sees no GPU here; --dry-run tries the script on the CPU")
    weights = jnp.eye(width, dtype=jnp.float32 if is_dry else jnp.bfloat16)

    @jax.jit
    def step(batch: Any) -> Any:
        state = weights * 0 + batch[0, 0, 0, 0].astype(weights.dtype)
        state = jax.lax.fori_loop(0, work, lambda _, state: state @ weights, state)
        return batch[:, 0, 0, 0].sum() + 0 * state[0, 0].astype(jnp.float32)

    @jax.jit
    def look(batch: Any) -> Any:
        return batch[:, 0, 0, 0].sum()

    def run(batches: Iterable[Any], call: Any = step) -> float:
        total = jnp.zeros(())
        for batch in batches:
            total += call(batch)
        return float(total)  # waits for the device

    ours = ps.Dataset.from_tensor_slices(batches).to_jax()
    resident = jax.device_put(batches[0])
    return {
        "to_jax": lambda: run(ours),
        "device_put": lambda: run(jax.device_put(batch) for batch in batches),
        "the step alone": lambda: run([resident] * len(batches)),
        "to_jax, no step": lambda: run(ours, look),
        "device_put, no step": lambda: run((jax.device_put(batch) for batch in batches), look),
    }


def main() -> None:
    """Print one line a contender, and all figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=["torch", "jax"])
    parser.add_argument("--batches", type=int, default=100, help="an epoch, 38.5 MB each, all held in memory")
    parser.add_argument("--work", type=int, default=40, help="products of 4096 x 4096 matrices in a step")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dry-run", action="store_true", help="small, on the CPU")
    arguments = parser.parse_args()
    count, side, width, rounds = arguments.batches, 224, 4096, arguments.rounds
    if arguments.dry_run:
        count, side, width, rounds = 5, 8, 16, 2
    batches = ready(count, side)
    epochs = {"torch": torch_epochs, "jax": jax_epochs}[arguments.framework](
        batches, arguments.work, width, arguments.dry_run
    )
    expected = float(batches[:, :, 0, 0, 0].sum())
    found = {name: epoch() for name, epoch in epochs.items()}  # also the round that compiles and page-locks
    assert all(abs(total / expected - 1) < 1e-3 for name, total in found.items() if "alone" not in name), found
    spent: dict[str, list[float]] = {name: [] for name in epochs}
    names = list(epochs)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            began = time.perf_counter()
            epochs[name]()
            spent[name].append((time.perf_counter() - began) / count * 1e3)
    print(f"{'ms a batch':28} {'median':>8} {'least':>8} {'most':>8}   {count} batches, {rounds} rounds")
    for name, times in spent.items():
        print(f"{name:28} {statistics.median(times):8.2f} {min(times):8.2f} {max(times):8.2f}")
    print(json.dumps({"framework": arguments.framework, "dry_run": arguments.dry_run, "ms": spent}))


if __name__ == "__main__":
    main()
