"""`import penstock` beyond `import numpy`, fresh interpreters, in turn. At most 150 ms, no framework imported.

Names are imported when they are first used, so the first `penstock.Dataset` is timed too.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.harness import ROOT, Result


def _seconds(program: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
    return time.perf_counter() - began


def run(rounds: int) -> Result:
    numpy_s, penstock_s, used_s = [], [], []
    _seconds("import penstock; penstock.Dataset")  # bytecode is written once
    for _ in range(max(rounds, 5)):
        numpy_s.append(_seconds("import numpy"))
        penstock_s.append(_seconds("import numpy, penstock"))
        used_s.append(_seconds("import numpy, penstock; penstock.Dataset"))
    beyond, used = (
        statistics.median(b - a for a, b in zip(numpy_s, times, strict=True)) for times in (penstock_s, used_s)
    )
    lines = [
        f"import numpy              {statistics.median(numpy_s) * 1e3:8.1f} ms",
        f"import numpy, penstock    {statistics.median(penstock_s) * 1e3:8.1f} ms",
        f"beyond numpy              {beyond * 1e3:8.1f} ms (at most 150)",
        f"and penstock.Dataset      {used * 1e3:8.1f} ms",
    ]
    times = {"numpy_s": numpy_s, "penstock_s": penstock_s, "used_s": used_s}
    return Result("import_time", "fresh interpreters", lines, times)
