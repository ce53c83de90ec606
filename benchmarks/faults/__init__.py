"""Planted faults: training scripts as somebody would write them, each slow or wrong for one known reason.

`penstock doctor` is run on each, knowing nothing of it. A hit: its first finding has the planted kind and blames a line
that is marked. Beside them, healthy scripts, on which any finding is a false alarm. `python -m benchmarks.faults NAME`
runs those whose name contains NAME, and prints what the doctor said of them. Reach: hits 90 %, no false alarm.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from benchmarks.faults.examine import Examined, examine
from benchmarks.faults.table import FAULTS, HEALTHY, SCRIPTS, Planted
from benchmarks.harness import Result

_NEEDS = {"tf_data": "tensorflow", "keras": "tensorflow", "torch": "torch", "jax": "jax"}


def run(rounds: int) -> Result:
    """The whole suite, each script once: it takes ten minutes or more."""
    del rounds  # a verdict is no time
    return judge(FAULTS + HEALTHY)


def judge(scripts: Iterable[Planted], keep: Path | None = None) -> Result:
    """The table of what was said of each script, and how many were named. keep: a folder for the traces."""
    present, absent = [], []
    for planted in scripts:
        needed = _NEEDS.get(planted.loader)
        (present if needed is None or importlib.util.find_spec(needed) else absent).append(planted)
    examined = []
    for planted in present:
        examined.append(examine(planted, keep))
        print(row(examined[-1]), flush=True)
    faults = [one for one in examined if one.planted.kinds]
    healthy = [one for one in examined if not one.planted.kinds]
    hits, named = sum(one.is_right for one in faults), sum(one.is_named for one in faults)
    alarms = sum(not one.is_right for one in healthy)
    lines = [row(one) for one in examined]
    if faults:
        lines.append(f"hits {hits} of {len(faults)} ({hits / len(faults):.0%}); named first or later {named}")
    if healthy:
        lines.append(f"false alarms {alarms} of {len(healthy)} healthy scripts")
    if absent:
        lines.append(f"not counted, for their framework is not installed: {', '.join(one.script for one in absent)}")
    figures = {
        "hits": hits, "named": named, "faults": len(faults), "false_alarms": alarms, "healthy": len(healthy),
        "absent": [one.script for one in absent], "examined": [_figures(one) for one in examined],
    }  # fmt: skip
    return Result("faults", "what penstock doctor says of planted faults and of healthy scripts", lines, figures)


def row(one: Examined) -> str:
    """One line: the script, hit or miss, what was said first, the share of time in which the accelerator computed."""
    said = (
        one.why
        or "; ".join(f"{kind} ({blame.replace(f'{SCRIPTS}/', '')})" for kind, blame in one.told[:2])
        or f"{one.verdict}, no finding"
    )
    word = "hit" if one.is_right else "named" if one.is_named else "MISS" if one.planted.kinds else "ALARM"
    if not one.planted.kinds and one.is_right:
        word = "quiet"
    au = "   -" if one.au is None else f"{one.au:4.0%}"
    return f"{one.planted.script:30} {word:6} AU {au} {one.seconds:5.0f} s  {said}"


def _figures(one: Examined) -> dict[str, object]:
    return {**asdict(one), "planted": one.planted.script, "is_right": one.is_right}
