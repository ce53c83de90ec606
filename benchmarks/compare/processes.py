"""Functions that hold the GIL, and large arrays, in two worker processes; against PyTorch's DataLoader with 2 workers.

Work: (1) a pure Python map of about 1 ms, batches of 64; (2) one array of 600 KB an element, batches of 16: a fill, so
that moving it is the cost. Both sides run the same function, warm: workers are up before the first timed epoch
(`persistent_workers`). "auto" is ours with nothing said of where the map runs: the 1 ms map is measured to hold the GIL
and moves, the fill does not and stays in threads. CPU-seconds are those of the trainer and of its workers. Time to the
first batch is of a fresh process that has imported its library, from `iter()` on, workers not yet started. The limit is
one core's speed, twice.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, Contender, Result, Samples, compare, interleave

SLOW_ROWS, SLOW_BATCH = 1500, 64
LARGE_ROWS, LARGE_BATCH = 768, 16
ROUNDS_FIRST = 5
_STEPS = 24000  # about 1 ms of bytecode here

Repetition = Callable[..., Any]


def slow(number: int) -> int:
    """About a millisecond that holds the GIL."""
    total = int(number)
    for step in range(_STEPS):
        total = (total * 31 + step) & 0xFFFF
    return total


def large(number: int) -> np.ndarray:
    """600 KB."""
    return np.full((224, 224, 3), number, dtype=np.float32)


def _consume(batches: Iterable[Any], prove: bool) -> Any:
    if not prove:
        return sum(len(batch) for batch in batches)
    rows = [np.asarray(batch) for batch in batches]
    return [sum(map(len, rows)), float(sum(row.reshape(len(row), -1)[:, -1].sum(dtype=np.float64) for row in rows))]


def _penstock(function: Callable[[int], Any], rows: int, batch: int, executor: str = "processes") -> Any:
    import penstock as ps

    return ps.Dataset.range(rows).map(function, executor=executor).batch(batch)  # type: ignore[arg-type]  # a literal


def _loader(function: Callable[[int], Any], rows: int, batch: int) -> Any:
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __len__(self) -> int:
            return rows

        def __getitem__(self, index: int) -> Any:
            value = function(index)
            return value if isinstance(value, int) else torch.from_numpy(value)

    return DataLoader(Rows(), batch_size=batch, num_workers=2, persistent_workers=True)


def _repetition(batches: Any) -> Repetition:
    return lambda prove: _consume(batches, prove)


def _warm() -> None:
    """Workers that have started, as the loader's have after its first epoch."""
    from penstock.engine.executors.processes import shared_pool

    pool = shared_pool()
    pool.start(2)
    for worker in [pool.acquire(may_wait=True) for _ in range(2)]:
        pool.release(worker)


def penstock_slow() -> Repetition:
    _warm()
    return _repetition(_penstock(slow, SLOW_ROWS, SLOW_BATCH))


def penstock_auto_slow() -> Repetition:
    """Nothing said: what the repetition before the first timed one measured decides."""
    return _repetition(_penstock(slow, SLOW_ROWS, SLOW_BATCH, "auto"))


def torch_slow() -> Repetition:
    return _repetition(_loader(slow, SLOW_ROWS, SLOW_BATCH))


def one_core() -> Repetition:
    """The function in a bare loop: twice this is all that two cores can give."""

    def run(prove: bool) -> Any:
        values = [slow(number) for number in range(SLOW_ROWS)]
        return [SLOW_ROWS, float(sum(values))] if prove else SLOW_ROWS

    return run


def two_loops() -> Repetition:
    """The same loop in two processes at once, forked for each repetition: all that these two cores give now."""

    def run(prove: bool) -> Any:
        halves = [range(0, SLOW_ROWS, 2), range(1, SLOW_ROWS, 2)]
        pids = []
        for half in halves:
            pid = os.fork()
            if not pid:
                for number in half:
                    slow(number)
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
        return one_core()(True) if prove else SLOW_ROWS

    return run


def penstock_large() -> Repetition:
    _warm()
    return _repetition(_penstock(large, LARGE_ROWS, LARGE_BATCH))


def penstock_auto_large() -> Repetition:
    return _repetition(_penstock(large, LARGE_ROWS, LARGE_BATCH, "auto"))


def torch_large() -> Repetition:
    return _repetition(_loader(large, LARGE_ROWS, LARGE_BATCH))


_HERE = "benchmarks.compare.processes"
SLOW = [
    Contender("penstock, 2 processes", f"{_HERE}:penstock_slow"),
    Contender("torch DataLoader, 2 workers", f"{_HERE}:torch_slow"),
    Contender("penstock, auto", f"{_HERE}:penstock_auto_slow"),
    Contender("limit: two bare loops", f"{_HERE}:two_loops"),
    Contender("one bare loop", f"{_HERE}:one_core"),
]
LARGE = [
    Contender("penstock, 2 processes", f"{_HERE}:penstock_large"),
    Contender("torch DataLoader, 2 workers", f"{_HERE}:torch_large"),
    Contender("penstock, auto", f"{_HERE}:penstock_auto_large"),
]
_FIRST = {"penstock": "import penstock\nds = p._penstock(p.slow, p.SLOW_ROWS, p.SLOW_BATCH)",
          "torch DataLoader": "import torch.utils.data\nds = p._loader(p.slow, p.SLOW_ROWS, p.SLOW_BATCH)"}  # fmt: skip


def first_batch_ms(name: str) -> float:
    """From `iter()` to the first batch, in a fresh process."""
    program = (
        f"import time, os\nimport {_HERE} as p\n{_FIRST[name]}\nbegan = time.perf_counter()\nnext(iter(ds))\n"
        "print(1000 * (time.perf_counter() - began), flush=True)\nos._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'python'}"},
    )  # fmt: skip
    return float(done.stdout)


def _per_cpu_second(samples: list[Samples]) -> str:
    ours, theirs = (statistics.median(sample.cpu_s) for sample in samples[:2])
    return f"elements per CPU-second: {1 / ours:,.0f} against {1 / theirs:,.0f}, {theirs / ours:.2f} times"


def run(rounds: int) -> Result:
    slow_samples = interleave(SLOW, rounds)
    large_samples = interleave(LARGE, rounds)
    first: dict[str, list[float]] = {name: [] for name in _FIRST}
    present = [name for name in _FIRST if name == "penstock" or slow_samples[1].missing is None]
    for _ in range(ROUNDS_FIRST):
        for name in present:
            first[name].append(first_batch_ms(name))
    tables = [
        compare("slow", "a pure Python map of 1 ms", slow_samples, "elements/s"),
        compare("large", "600 KB an element", large_samples, "elements/s"),
    ]
    lines = [line for table in tables for line in ("", table.what, *table.lines)]
    if slow_samples[1].missing is None:
        lines += ["", f"600 KB: {_per_cpu_second(large_samples)}", f"1 ms: {_per_cpu_second(slow_samples)}"]
    lines += [f"first batch, {name}: {statistics.median(first[name]):.0f} ms" for name in present]
    figures = {"slow": tables[0].figures, "large": tables[1].figures, "first_batch_ms": first}
    return Result("processes", f"two worker processes, {rounds} rounds", lines, figures)
