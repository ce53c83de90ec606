"""Peak resident memory of the in-memory benchmark, over a bare interpreter that holds NumPy and the same data.

Law: at most 60 MB over it. Each figure is the peak of a fresh process (getrusage), median of several.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from benchmarks.harness import ROOT, Result

_PEAK = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
_BARE = f"from benchmarks.compare.in_memory import data; d = data(); {_PEAK}"
_OURS = (
    "from benchmarks.compare.in_memory import data\nimport penstock as ps\n"
    "ds = ps.Dataset.from_tensor_slices(data()).shuffle().batch(128)\n"
    f"for _ in range(5):\n    for batch in ds: pass\n{_PEAK}"
)


def _peak_mb(program: str) -> float:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def run(rounds: int) -> Result:
    bare, ours = [], []
    for _ in range(max(3, rounds // 3)):
        bare.append(_peak_mb(_BARE))
        ours.append(_peak_mb(_OURS))
    over = statistics.median(ours) - statistics.median(bare)
    lines = [
        f"NumPy and the data        {statistics.median(bare):8.1f} MiB",
        f"penstock, five epochs     {statistics.median(ours):8.1f} MiB",
        f"over it                   {over:8.1f} MiB (at most 60)",
    ]
    return Result("in_memory_rss", "peak resident memory", lines, {"bare_mib": bare, "penstock_mib": ours})
