"""The script in a process of its own: its output, its signals and its exit status stay its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import penstock.probes.startup

_TICK_S = 0.1


def environment(directory: Path, before: dict[str, str]) -> dict[str, str]:
    """What makes Python, there and in its child processes, start with our probes, and then as it would have."""
    startup = os.path.dirname(os.path.abspath(penstock.probes.startup.__file__))
    path = before.get("PYTHONPATH")
    return {
        **before,
        "PYTHONPATH": os.pathsep.join([startup, path]) if path else startup,
        "PENSTOCK_DOCTOR": str(directory),
    }


def run_script(arguments: Sequence[str], directory: Path, tick: Callable[[], None], limit_s: float | None) -> int:
    """Run `python arguments...` to its end; its exit status, 128 + n when signal n ended it.

    tick: called ten times a second. limit_s: it gets SIGINT after so many seconds.
    A signal that reaches us but not the script (it is in another group of the terminal's) is handed on to it.
    """
    process = subprocess.Popen([sys.executable, *arguments], env=environment(directory, dict(os.environ)))
    with _Relay(process):
        left_s = limit_s
        while True:
            try:
                status = process.wait(_TICK_S)
                return status if status >= 0 else 128 - status
            except subprocess.TimeoutExpired:
                tick()
            if left_s is not None:
                left_s -= _TICK_S
                if left_s <= 0:
                    left_s = None
                    process.send_signal(signal.SIGINT)


class _Relay:
    """While open, SIGINT and SIGTERM are the script's to answer; we stay for the report."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._hand_on)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hand_on(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM or not _is_in_foreground():
            self._process.send_signal(number)


def _is_in_foreground() -> bool:
    """Whether the terminal sends its signals to us and to the script alike."""
    for file in (0, 1, 2):
        try:
            return os.tcgetpgrp(file) == os.getpgrp()
        except OSError:
            continue
    return False
