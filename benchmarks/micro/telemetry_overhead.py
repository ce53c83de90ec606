"""What telemetry costs: CPU seconds of a pipeline with it, and with what measures replaced by what does not.

One process, turn and turn about, so that both see the same noise; CPU seconds of the process; median of the ratios of
neighbours. Images are the work of the image benchmark on files made here; small records are the worst case, where a
block is a few hundred additions: there the cost of a block is what matters. Beside the ratio, which noise moves by more
than telemetry does, stands what counting says: blocks measured, times what measuring and merging one costs.

    python -m benchmarks.micro.telemetry_overhead [rounds]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from penstock import Dataset
from penstock.engine import scope
from penstock.engine.reads import engine_clock
from penstock.engine.stages import RunningStage
from penstock.ops.codecs import encode_jpeg
from penstock.telemetry.gil import GilWatch
from penstock.telemetry.tally import NoTally, StepTotals, Tally

IMAGES = 512
RECORDS = 1_000_000


def train_image(name: Any) -> Any:
    image = ps.io.decode_jpeg(ps.io.read_file(name), channels=3)
    image = ps.image.random_resized_crop(image, (224, 224))
    image = ps.image.random_flip_left_right(image)
    return ps.image.normalize(image, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def images(folder: Path) -> Dataset:
    """As many JPEGs of 500 x 375 as there are, cropped at random, in batches of 64."""
    rng = np.random.default_rng(0)
    for number in range(64):
        rough = rng.integers(0, 256, (75, 100, 3)).repeat(5, axis=0).repeat(5, axis=1)
        (folder / f"{number}.jpg").write_bytes(encode_jpeg(rough.astype(np.uint8), quality=80))
    names = sorted(str(path) for path in folder.iterdir()) * (IMAGES // 64)
    return Dataset.from_tensor_slices(names).shuffle(IMAGES).map(train_image).batch(64)


def records() -> Dataset:
    """Numbers through three cheap functions, in batches of 256."""
    return Dataset.range(RECORDS).map(lambda x: x + 1).filter(lambda x: x % 3 != 0).map(lambda x: x * 2).batch(256)


@contextmanager
def unmeasured() -> Iterator[None]:
    """Steps are not measured, stages not recorded, the GIL not looked at."""
    kept: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        kept.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    put(scope, "Tally", lambda clock, **_: NoTally(clock))
    put(RunningStage, "_record", lambda self, rows: None)
    put(GilWatch, "enter", lambda self, key: None)
    put(GilWatch, "leave", lambda self, before, seconds: None)
    try:
        yield
    finally:
        for owner, name, value in reversed(kept):
            setattr(owner, name, value)


def cpu_s(dataset: Dataset) -> tuple[float, int]:
    """CPU seconds of an epoch, and how many blocks its steps measured."""
    began = time.process_time()
    with iter(dataset) as iterator:
        for _ in iterator:
            pass
        spent_s = time.process_time() - began
        return spent_s, sum(step.calls for step in iterator.trace().steps)


def compare(name: str, dataset: Dataset, rounds: int, cost_s: float, unit: tuple[str, int]) -> None:
    """Print both. cost_s: of a measured block. unit: what to share the difference among, and how many; 0: blocks."""
    cpu_s(dataset)
    ratios, with_s, without_s, tasks = [], [], [], 0
    for turn in range(rounds):
        if turn % 2:
            measured, tasks = cpu_s(dataset)
        with unmeasured():
            bare, _ = cpu_s(dataset)
        if not turn % 2:
            measured, tasks = cpu_s(dataset)
        ratios.append(measured / bare)
        with_s.append(measured)
        without_s.append(bare)
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    with_it, without = statistics.median(with_s), statistics.median(without_s)
    counted = tasks * cost_s / without
    print(f"{name:14} CPU with telemetry / without: {middle:.4f} (quartiles {low:.4f} to {high:.4f}), ", end="")
    each = (with_it - without) / (unit[1] or tasks)
    print(f"by count {counted:.4f}, {with_it:.3f} s and {without:.3f} s, {rounds} rounds", end="; ")
    print(f"{each * 1e6:+.1f} us {unit[0]}", flush=True)


def call_s(calls: int = 20_000) -> float:
    """CPU seconds that measuring one block in one step costs, beside the block."""
    tally, block = Tally(engine_clock(), bars={(0, "map"): 1.0}), np.zeros(8)
    began = time.process_time()
    for _ in range(calls):
        tally.measure((0, "map"), "map", lambda: block)
    return (time.process_time() - began) / calls


def merged_s(calls: int = 20_000) -> float:
    """CPU seconds that merging what one task measured of one step costs."""
    totals, one = StepTotals("map"), StepTotals("map")
    one.each.add(1e-3, 8)
    began = time.process_time()
    for _ in range(calls):
        totals.add(one)
    return (time.process_time() - began) / calls


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    block_s, merge_s = min(call_s() for _ in range(5)), min(merged_s() for _ in range(5))
    print(f"a block in a step  {block_s * 1e6:.1f} us, and {merge_s * 1e6:.1f} us to merge it")
    with tempfile.TemporaryDirectory() as folder:
        compare("images", images(Path(folder)), rounds, block_s + merge_s, ("an image", IMAGES))
    compare("small records", records(), rounds, block_s + merge_s, ("a measured block", 0))


if __name__ == "__main__":
    main()
