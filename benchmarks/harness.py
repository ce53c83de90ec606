"""Interleaved runs: every contender lives in a process of its own and is asked for one repetition at a time, in turn.

So all of them see the same noise, none sees another's memory or threads, and imports are not timed. The order within a
round rotates. What is kept: median and quartiles of elements per second, CPU-seconds per element, the ratio of medians.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Contender:
    """A name, and the module function (`package.module:function`) that, given `arguments`, returns one repetition."""

    name: str
    target: str
    arguments: tuple[str, ...] = ()


@dataclass(slots=True)
class Samples:
    """What one contender measured. rates: elements/s of each round; cpu_s: CPU-seconds per element of each round."""

    name: str
    rates: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    proof: object = None
    missing: str | None = None

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)


class _Process:
    """A contender's process: answers each line on its standard input with one line of JSON."""

    def __init__(self, contender: Contender) -> None:
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", contender.target, *contender.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def ask(self, word: str) -> dict[str, object]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a contender died with {self.process.wait()}")
        answer: dict[str, object] = json.loads(line)
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def interleave(contenders: Sequence[Contender], rounds: int) -> list[Samples]:
    """Ask each contender `rounds` times, in turn, after one repetition that is not timed and gives its proof."""
    processes = {contender.name: _Process(contender) for contender in contenders}
    samples = {contender.name: Samples(contender.name) for contender in contenders}
    try:
        for name, process in processes.items():
            ready = process.ask("prove")
            samples[name].missing = ready.get("missing")  # type: ignore[assignment]  # str or absent
            samples[name].proof = ready.get("proof")
        present = [name for name in processes if samples[name].missing is None]
        for turn in range(rounds):
            for name in present[turn % len(present) :] + present[: turn % len(present)]:
                answer = processes[name].ask("run")
                elements, seconds, cpu_s = (float(answer[key]) for key in ("elements", "seconds", "cpu_s"))  # type: ignore[arg-type]  # numbers
                samples[name].rates.append(elements / seconds)
                samples[name].cpu_s.append(cpu_s / elements)
    finally:
        for process in processes.values():
            process.close()
    return list(samples.values())


@dataclass(slots=True)
class Result:
    """A benchmark's figures: printed as a table, kept as JSON with machine and commit."""

    name: str
    what: str
    lines: list[str]
    figures: dict[str, object]

    def table(self) -> str:
        return "\n".join([f"== {self.name}: {self.what}", *self.lines])

    def keep(self) -> Path:
        """Write benchmarks/results/<name>-<date>.json."""
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()
        today = datetime.now(UTC).date().isoformat()
        document = {
            "benchmark": self.name,
            "what": self.what,
            "date": today,
            "commit": commit,
            "machine": {"cpus": os.cpu_count(), "processor": _processor(), "python": platform.python_version()},
            "figures": self.figures,
        }
        path = RESULTS / f"{self.name}-{today}.json"
        path.write_text(json.dumps(document, indent=1) + "\n")
        return path.relative_to(ROOT)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _is_same(one: object, other: object, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_is_same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key], tolerance) for key in one)
    return one == other


def compare(name: str, what: str, samples: Sequence[Samples], unit: str, tolerance: float = 0.0) -> Result:
    """The table of one comparison: ours first; ratios are ours over theirs.

    tolerance: of the floats in the proofs; above 0 where every contender draws at random for itself.
    """
    ours = samples[0]
    lines = [f"{'':28} {unit:>14} {'quartiles':>21} {'CPU us/element':>15} {'ours / it':>10}"]
    for sample in samples:
        if sample.missing is not None:
            lines.append(f"{sample.name:28} not measured: {sample.missing}")
            continue
        low, _, high = statistics.quantiles(sample.rates, n=4)
        cpu_us = statistics.median(sample.cpu_s) * 1e6
        lines.append(
            f"{sample.name:28} {sample.rate:14,.0f} {low:10,.0f}-{high:10,.0f} {cpu_us:15.3f}"
            f" {ours.rate / sample.rate:10.2f}"
        )
    proofs = [sample.proof for sample in samples if sample.proof is not None]
    same = bool(proofs) and all(_is_same(proof, proofs[0], tolerance) for proof in proofs)
    how = f", floats within {tolerance}" if tolerance else ""
    texts = sorted({json.dumps(proof) for proof in proofs})
    lines.append(f"same content from all{how}" if same else f"CONTENT DIFFERS: {texts}")
    return Result(name, what, lines, {"unit": unit, "samples": [asdict(sample) for sample in samples]})
