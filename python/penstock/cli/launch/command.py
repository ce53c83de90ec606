"""`penstock launch`: checks what was asked, runs the workers, and says which failed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from penstock.errors import ReadError
from penstock.machine.accelerators import visible_devices
from penstock.machine.cpu import cpu_budget
from penstock.machine.nvml import open_accelerators
from penstock.train.launch.run import Ending, run_group
from penstock.train.launch.variables import Group, group_of

CLOSED = 141  # 128 + SIGPIPE: nobody reads the output any more


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for; the options' meaning stands in their help."""

    script: Path
    arguments: tuple[str, ...] = ()
    workers: int = 2
    backend: str = "auto"
    grace_s: float = 10.0


def run_launch(request: Request, console: Console) -> int:
    """Run the script's workers to their end; the exit status, which is that of the first to fail.

    console: for what we say ourselves, on stderr. Raises: ReadError: no such script. InvalidArgumentError.
    """
    if not request.script.is_file():
        raise ReadError(
            "launch: no such script", got="a folder" if request.script.is_dir() else None,
            expected="a Python script", where=str(request.script),
        )  # fmt: skip
    gpus = _gpus()
    group = group_of(request.workers, request.backend, cpus=cpu_budget(), gpus=gpus, environment=os.environ)
    console.print(Text(f"penstock launch: {in_words(group)}", style="dim"))
    command = [sys.executable, str(request.script), *request.arguments]
    commands = [(command, {**os.environ, **group.variables(rank)}) for rank in range(group.workers)]

    def say(ending: Ending) -> None:
        others = "; the other workers are ended" if group.workers > 1 and ending.rank is not None else ""
        console.print(Text(f"penstock launch: {ending}{others}", style="bold red"))
        for line in ending.last_lines:
            console.print(Text(f"  {line}"))

    try:
        return run_group(commands, _write, say, request.grace_s).status
    except BrokenPipeError:
        return CLOSED


def in_words(group: Group) -> str:
    """What the workers are given, in one line."""
    whose = "TensorFlow, PyTorch and JAX" if group.backend == "auto" else group.backend
    text = f"{group.workers} worker{'s' if group.workers != 1 else ''}, variables for {whose}"
    if group.threads is not None:
        text += f", {group.threads} CPU thread{'s' if group.threads != 1 else ''} each (OMP_NUM_THREADS sets another)"
    if group.gpus and len(group.gpus) < group.workers:
        text += f"; {len(group.gpus)} GPU for {group.workers} workers: NCCL refuses that"
    return text


def _gpus() -> Sequence[str]:
    """The visible GPUs, as CUDA_VISIBLE_DEVICES names them."""
    accelerators = open_accelerators()
    try:
        count = len(accelerators.read())
    finally:
        accelerators.close()
    named = visible_devices(os.environ)
    return named[:count] if named is not None else [str(place) for place in range(count)]


def _write(file: int, data: bytes) -> None:
    stream = sys.stdout.buffer if file == 1 else sys.stderr.buffer
    stream.write(data)
    stream.flush()
