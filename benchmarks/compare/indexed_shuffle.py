"""A shuffle of 10**9 indices: how soon the first element comes, and what is held in memory.

Each figure is that of a fresh process. Law: within 100 ms, and no permutation (8 GB) held: the peak is within 60 MB of
a process that only imports penstock. What stores a permutation, for comparison: `numpy.random.permutation` of 10**7, a
hundredth of it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from benchmarks.harness import ROOT, Result

_PEAK = "import resource, json, time; peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024"
_REPORT = "print(json.dumps([took * 1000, peak()]))"
_OURS = f"""{_PEAK}
import penstock as ps
began = time.perf_counter()
iterator = iter(ps.Dataset.range(10**9).shuffle().batch(1024))
first = next(iterator)
took = time.perf_counter() - began
seen = [first, *(next(iterator) for _ in range(999))]
import numpy as np
values = np.concatenate(seen)
assert len(np.unique(values)) == len(values) == 1024_000 and values.max() > 0.99e9 and values.min() < 0.01e9
{_REPORT}
"""
_BARE = f"{_PEAK}\nimport penstock\nimport numpy as np\nx = np.unique(np.arange(1024_000))\ntook = 0.0\n{_REPORT}"
_STORED = f"""{_PEAK}
import numpy as np
began = time.perf_counter()
first = np.random.default_rng(0).permutation(10**7)[:1024]
took = time.perf_counter() - began
{_REPORT}
"""


def _figures(program: str, rounds: int) -> tuple[float, float]:
    """Milliseconds to the first element, and peak megabytes: medians of fresh processes."""
    found = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    return statistics.median(ms for ms, _ in found), statistics.median(mb for _, mb in found)


def run(rounds: int) -> Result:
    programs = {"penstock": _OURS, "import penstock": _BARE, "numpy permutation, 10**7": _STORED}
    found = {name: _figures(program, max(3, rounds // 3)) for name, program in programs.items()}
    lines = [f"{'':28} {'first batch, ms':>16} {'peak MB':>9}"]
    lines += [f"{name:28} {ms:16.1f} {mb:9.0f}" for name, (ms, mb) in found.items()]
    over = found["penstock"][1] - found["import penstock"][1]
    lines.append(f"holds {over:.0f} MB beside what is imported; the law: 100 ms and 60 MB")
    what = "range(10**9).shuffle().batch(1024): the first batch, and 1000 of them"
    return Result("indexed_shuffle", what, lines, {name: {"ms": ms, "mb": mb} for name, (ms, mb) in found.items()})
