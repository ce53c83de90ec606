"""One contender's process: `python -m benchmarks.worker package.module:function`, driven by lines on standard input."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time


def main() -> None:
    """Answer `prove` with what a repetition delivers, `run` with what it costs, until the input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints stays out of the answers
    module, _, function = sys.argv[1].partition(":")
    repetition = None
    for line in sys.stdin:
        try:
            if repetition is None:
                repetition = getattr(importlib.import_module(module), function)()
            if line.strip() == "prove":
                answer = {"proof": repetition(prove=True)}
            else:
                began, cpu = time.perf_counter(), time.process_time()
                elements = repetition(prove=False)
                answer = {
                    "elements": elements,
                    "seconds": time.perf_counter() - began,
                    "cpu_s": time.process_time() - cpu,
                }
        except ImportError as error:
            answer = {"missing": str(error)}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
