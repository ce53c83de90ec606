"""DistributedDataParallel: one process for each device, joined by the variables of torchrun or `penstock launch`.

The gradient is that of a single process on the global batch under two conditions, both on every rank in every step:
the same number of steps, which `Dataset.distribute` gives, and, where ranks have unequal numbers of rows, a loss
times `loss_weight(rows)`, n_local * world / n_global. DDP takes the mean over ranks; with it, row counts as row.
"""

from __future__ import annotations

import atexit
import os
from datetime import timedelta
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.train.runtime import Change, Runtime
from penstock.train.strategy.choose import Wish
from penstock.train.strategy.chosen import Strategy
from penstock.train.strategy.meeting import IN_USE, TorchPlan, torch_plan

TIMEOUT_S = 600.0  # of a start or a collective; PyTorch's own is 30 minutes for gloo, 10 for NCCL


def local_devices() -> tuple[str, ...]:
    """What this process would train on: one GPU or the CPU. Starts nothing."""
    import torch

    return tuple(f"cuda:{number}" for number in range(torch.cuda.device_count())) or ("cpu",)


def ddp(wish: Wish) -> tuple[Strategy, tuple[Change, ...]]:
    """Join the processes of this training; waits until all have come. A group that is there already is taken as it is.

    Raises: InvalidArgumentError: a variable is missing or wrong, the port is in use, the others do not come.
    """
    import torch
    from torch import distributed

    if wish.devices is not None and len(wish.devices) != 1:
        raise InvalidArgumentError(
            "setup: devices of 'ddp'", got=repr(list(wish.devices)), expected="one: each process has its own"
        )
    if distributed.is_initialized():
        collectives = distributed.get_backend()
        device = _said(wish) or (f"cuda:{torch.cuda.current_device()}" if collectives == "nccl" else "cpu")
        text = f"the process group that is there ({collectives})"
        change = Change(lever="strategy", text=text, outcome="not needed", why="it was initialized before")
        return _strategy(device, collectives), (change,)
    gpus = 0 if _said(wish) == "cpu" else torch.cuda.device_count()
    plan = torch_plan(wish.world, os.environ, gpus, wish.cross_device_ops)
    device = _said(wish) or plan.device
    if device != "cpu":
        torch.cuda.set_device(device)
    _join(plan, wish.world.rank, wish.world.size)
    atexit.register(_leave)
    text = f"process group of {wish.world.size} at {plan.address} ({plan.collectives})"
    return _strategy(device, plan.collectives), (Change(lever="strategy", text=text, undo=_leave),)


def wrap(model: Any, runtime: Runtime | Strategy, **options: Any) -> Any:
    """The model on its device, in DistributedDataParallel where there are several processes; else just there.

    Every rank begins with the weights of rank 0. options: those of DistributedDataParallel.
    Raises: InvalidArgumentError: it is a Keras model, whose `fit` goes past DDP.
    """
    strategy = runtime.strategy if isinstance(runtime, Runtime) else runtime
    if any(base.__module__.startswith("keras.") for base in type(model).__mro__):
        raise InvalidArgumentError(
            "wrap: a Keras model", got=type(model).__name__, expected="a torch.nn.Module of your own loop",
            remedy="compile it with penstock.train.averaged(optimizer), and call fit",
        )  # fmt: skip
    if strategy.name != "ddp":
        return model
    from torch.nn.parallel import DistributedDataParallel

    device = strategy.devices[0]
    ids = None if device == "cpu" else [device]
    return DistributedDataParallel(model.to(device), **{"device_ids": ids, **options})


def loss_weight(rows: Any) -> Any:
    """What to multiply the mean loss of this rank's rows by: n_local * world / n_global, so that each row counts once.

    rows: their number, or the weights of a padded batch, a tensor or array whose sum is that number; a rank whose rows
    are all padding has 0. A float: 1.0 for equal numbers, and in a single process. Every rank must call it.
    Cost: an all-reduce of one number.
    """
    from torch import distributed

    if not distributed.is_initialized():
        return 1.0
    import torch

    local = float(rows.sum()) if hasattr(rows, "sum") else float(rows)
    device = torch.cuda.current_device() if distributed.get_backend() == "nccl" else "cpu"
    total = torch.tensor([local], dtype=torch.float64, device=device)
    distributed.all_reduce(total)
    everywhere = float(total)
    return local * distributed.get_world_size() / everywhere if everywhere else 0.0


def _join(plan: TorchPlan, rank: int, world: int) -> None:
    from torch import distributed

    try:
        distributed.init_process_group(
            plan.collectives, init_method="env://", rank=rank, world_size=world, timeout=timedelta(seconds=TIMEOUT_S)
        )
    except (distributed.DistError, ValueError, RuntimeError) as error:
        said = str(error)
        if "EADDRINUSE" in said or "already in use" in said:
            raise InvalidArgumentError(
                "setup: MASTER_PORT is in use", got=plan.address, expected="a port that nobody listens on",
                remedy=IN_USE,
            ) from error  # fmt: skip
        raise InvalidArgumentError(
            f"setup: 'ddp' could not join the other {world - 1} processes", got=said.splitlines()[0] if said else None,
            expected=f"rank 0 listening at {plan.address}, and all ranks there within {TIMEOUT_S:.0f} s",
        ) from error  # fmt: skip


def _strategy(device: str, collectives: str) -> Strategy:
    from torch import distributed

    return Strategy(
        name="ddp", backend="torch", devices=(device,), rank=distributed.get_rank(),
        world=distributed.get_world_size(), cross_device_ops=collectives, native=distributed.group.WORLD,
    )  # fmt: skip


def _said(wish: Wish) -> str | None:
    return None if wish.devices is None else wish.devices[0]


def _leave() -> None:
    """Leave the group, once; without it, PyTorch warns at exit and NCCL may hang."""
    from torch import distributed

    atexit.unregister(_leave)
    if distributed.is_initialized():
        distributed.destroy_process_group()
