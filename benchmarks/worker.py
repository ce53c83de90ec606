"""One contender's process: `python -m benchmarks.worker package.module:function [argument ...]`, driven by lines."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

import psutil


def cpu_s() -> float:
    """CPU seconds of this process and of all it started, ended or not."""
    ended = os.times()
    running = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:  # ended since: its parent counts it
            continue
        running += times.user + times.system
    return time.process_time() + ended.children_user + ended.children_system + running


def main() -> None:
    """Answer `prove` with what a repetition delivers, `run` with what it costs, until the input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints stays out of the answers
    module, _, function = sys.argv[1].partition(":")
    repetition = None
    for line in sys.stdin:
        try:
            if repetition is None:
                repetition = getattr(importlib.import_module(module), function)(*sys.argv[2:])
            if line.strip() == "prove":
                answer = {"proof": repetition(prove=True)}
            else:
                began, cpu = time.perf_counter(), cpu_s()
                elements = repetition(prove=False)
                answer = {
                    "elements": elements,
                    "seconds": time.perf_counter() - began,
                    "cpu_s": cpu_s() - cpu,
                }
        except ImportError as error:
            answer = {"missing": str(error)}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
