"""Accelerator utilisation: how much of the time an emulated accelerator computes, fed by Penstock, tf.data, PyTorch.

JPEG files to normalised batches of 32 (`image_forms`, "train"), one shuffled stream. The accelerator is busy for the
same time with each batch, on no core. Two trainers: one asleep meanwhile, as those are that hand all work to the
accelerator; one that keeps a core busy all along (without the GIL), which then is not the loader's.

What this host can deliver is measured first in each round, with our loader, nothing but taking batches, and the
trainer's core taken where it takes one. The step is then 1.1 or 1.5 times as long as a batch takes: the loader could
deliver so many times what is needed. 540 steps, after 60 that let buffers fill and parallelism settle.

Each deadline is the one before plus waiting plus the step, so that a sleep that was too long is made up for by the next
and does not count as compute. Source: MLPerf Storage: AU is nominal compute time over wall time. Reach: ours 0.97 at
1.1.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.compare import image_loaders
from benchmarks.compare.image_corpus import make
from benchmarks.compare.image_forms import FORMS
from benchmarks.harness import ROOT, Result
from benchmarks.worker import cpu_s

LOADERS = {
    "penstock": ("penstock", image_loaders.penstock),
    "tf_data": ("tf.data", image_loaders.tf_data),
    "torch": ("torch, OpenCV", image_loaders.torch_opencv),
}
WARM_UP_STEPS, STEPS, FREE_STEPS = 60, 540, 200
FORM = replace(FORMS["train"], epochs=(WARM_UP_STEPS + STEPS) // 20 + 1, batch=32)
FACTORS = (1.1, 1.5)
TRAINERS = ("asleep", "busy")


def train(batches: Iterator[object], step_s: float, steps: int) -> float:
    """Seconds that `steps` steps took, each of at least `step_s`."""
    began_s = deadline_s = time.perf_counter()
    for _ in range(steps):
        asked_s = time.perf_counter()
        next(batches)
        deadline_s += time.perf_counter() - asked_s + step_s
        time.sleep(max(0.0, deadline_s - time.perf_counter()))
    return time.perf_counter() - began_s


@contextmanager
def core_taken(taken: bool) -> Iterator[None]:
    """A thread that keeps a core busy without the GIL, while open."""
    ended, data = threading.Event(), bytes(1 << 20)

    def work() -> None:
        while not ended.is_set():
            hashlib.sha256(data)

    thread = threading.Thread(target=work, daemon=True)
    if taken:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if taken:
            thread.join()


def contender(loader: str, trainer: str, step_s: float, steps: int) -> dict[str, float]:
    """One run, in this process: seconds, and CPU-seconds, those of a busy trainer among them."""
    batches = iter(LOADERS[loader][1](FORM)())
    with core_taken(trainer == "busy"):
        train(batches, step_s, WARM_UP_STEPS)
        cpu_began_s = cpu_s()
        seconds = train(batches, step_s, steps)
        spent_s = cpu_s() - cpu_began_s
    return {"seconds": seconds, "cpu_s": spent_s}


def _ask(loader: str, trainer: str, step_s: float, steps: int) -> dict[str, float] | str:
    """`contender` in a process of its own; or why there is none."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "benchmarks.compare.au", loader, trainer, str(step_s), str(steps)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it died"])[-1]
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(rounds: int) -> Result:
    """At most three rounds: one takes seven minutes."""
    rounds = min(rounds, 3)
    make(FORM.corpus)
    titles = f"{'trainer, capacity / need':26} {'step ms':>8}  {'':16} {'AU':>6}"
    lines = [f"{titles} {'all rounds':>20} {'CPU s / 1000 images':>20}"]
    figures: dict[str, object] = {}
    cells: dict[tuple[str, float, str], list[tuple[float, float, float]]] = {}
    missing: dict[str, str] = {}
    for _ in range(rounds):
        for trainer in TRAINERS:
            free = _ask("penstock", trainer, 0.0, FREE_STEPS)
            assert isinstance(free, dict), free
            for factor in FACTORS:
                step_s = factor * free["seconds"] / FREE_STEPS
                for loader in LOADERS:
                    found = _ask(loader, trainer, step_s, STEPS) if loader not in missing else missing[loader]
                    if isinstance(found, str):
                        missing[loader] = found
                        continue
                    au = min(1.0, STEPS * step_s / found["seconds"])
                    each = found["cpu_s"] / STEPS / FORM.batch * 1000
                    cells.setdefault((trainer, factor, loader), []).append((step_s, au, each))
    for (trainer, factor, loader), rows in cells.items():
        steps_s, aus, cpus = (list(column) for column in zip(*rows, strict=True))
        listed = " ".join(f"{au:.3f}" for au in aus)
        lines.append(
            f"{f'{trainer}, {factor}':26} {1000 * statistics.median(steps_s):8.1f}  {LOADERS[loader][0]:16}"
            f" {statistics.median(aus):6.3f} {listed:>20} {statistics.median(cpus):20.2f}"
        )
        figures[f"{trainer}, {factor}, {loader}"] = {"step_s": steps_s, "au": aus, "cpu_s_per_1000": cpus}
    lines += [f"{LOADERS[loader][0]} not measured: {why}" for loader, why in missing.items()]
    what = f"{STEPS} steps of {FORM.batch} images ({FORM.corpus.name}), {rounds} rounds"
    return Result("au", what, lines, figures)


if __name__ == "__main__":
    name, kind, step, count = sys.argv[1:]
    print(json.dumps(contender(name, kind, float(step), int(count))), flush=True)
    os._exit(0)
