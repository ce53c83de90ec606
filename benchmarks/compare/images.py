"""JPEG files to normalised batches of 64: Penstock, its peers by their own best practice, and two limits.

The forms (`compare.images` is "train"; the others are `compare.images_validation` and so on) are in image_forms.py, the
files in image_corpus.py. A repetition is a stream of several epochs, in which nobody computes ahead for the next one.
CPU-seconds are those of the loader's process and its children. Time to the first batch is of a fresh process that has
imported its library and built its graph, from `iter()` on. Reach: 2.0 times the faster of tf.data and DALI; 0.93 of the
kernel alone, which is 0.80 of decoding the regions; first batch within 150 ms.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.compare import image_limits, image_loaders
from benchmarks.compare.image_corpus import make
from benchmarks.compare.image_forms import CORES, FORMS, TOLERANCE, Form
from benchmarks.compare.image_forms import statistics as statistics_of
from benchmarks.harness import ROOT, Contender, Result, Samples, compare, interleave

LOADERS: dict[str, tuple[str, Callable[[Form], image_loaders.Batches]]] = {
    "penstock": ("penstock", image_loaders.penstock),
    "tf_data": ("tf.data", image_loaders.tf_data),
    "dali": ("DALI on the CPU", image_loaders.dali),
    "torch_opencv": (f"torch, {CORES} workers, OpenCV", image_loaders.torch_opencv),
    "torch_pillow": (f"torch, {CORES} workers, Pillow", image_loaders.torch_pillow),
    "grain_opencv": ("Grain threads, OpenCV", image_loaders.grain_opencv),
    "pool_opencv": (f"{CORES} threads, OpenCV", image_loaders.pool_opencv),
    "kernel": ("limit: our kernel alone", image_limits.kernel),
    "regions": ("limit: region decoding", image_limits.regions),
}
LIMITS = ("kernel", "regions")  # of JPEGs
ROUNDS_FIRST = 5


def repetition(loader: str, form: str) -> Callable[..., Any]:
    """The contender's process calls this."""
    batches = LOADERS[loader][1](FORMS[form])

    def repeat(prove: bool) -> Any:
        if not prove:
            return sum(len(labels) for _, labels in batches())
        if loader == "regions":
            return sum(len(labels) for _, labels in batches()) and None
        return statistics_of(batches(), FORMS[form])

    return repeat


def first_batch(loader: str, form: str) -> None:
    """Print the milliseconds from `iter()` to the first batch, and end."""
    batches = LOADERS[loader][1](FORMS[form])
    began = time.perf_counter()
    next(iter(batches()))
    print(1000 * (time.perf_counter() - began), flush=True)
    os._exit(0)


def _first_batch_ms(loader: str, form: str) -> float:
    program = f"from benchmarks.compare.images import first_batch; first_batch({loader!r}, {form!r})"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, check=True)
    return float(done.stdout.split()[-1])


def _ratios(of: dict[str, Samples]) -> dict[str, float]:
    """What is to be reached, as ratios of medians."""
    ours = of["penstock"].rate
    rivals = [of[name].rate for name in ("tf_data", "dali") if of[name].rates]
    ratios = {"ours / faster of tf.data and DALI": ours / max(rivals)} if rivals else {}
    peers = {name: sample.rate for name, sample in of.items() if name not in (*LIMITS, "penstock") and sample.rates}
    if peers:
        ratios["ours / fastest of all peers"] = ours / max(peers.values())
    if "kernel" in of:
        ratios["ours / our kernel alone"] = ours / of["kernel"].rate
        ratios["our kernel alone / region decoding"] = of["kernel"].rate / of["regions"].rate
    return ratios


def run(rounds: int, name: str = "train") -> Result:
    form = FORMS[name]
    make(form.corpus)
    loaders = [loader for loader in LOADERS if form.is_jpeg or loader not in LIMITS]
    contenders = [Contender(LOADERS[loader][0], f"{__name__}:repetition", (loader, name)) for loader in loaders]
    samples = dict(zip(loaders, interleave(contenders, rounds), strict=True))
    what = f"{form.corpus.files} files ({form.corpus.name}), {form.what}, {form.epochs} epochs a round, {rounds} rounds"
    title = "images" if name == "train" else f"images_{name}"
    result = compare(title, what, list(samples.values()), "images/s", TOLERANCE)
    ratios = _ratios(samples)
    present = [loader for loader in loaders if loader not in LIMITS and samples[loader].missing is None]
    first: dict[str, list[float]] = {loader: [] for loader in present}
    for _ in range(ROUNDS_FIRST):
        for loader in present:
            first[loader].append(_first_batch_ms(loader, name))
    result.lines += [f"{label}: {ratio:.2f}" for label, ratio in ratios.items()]
    result.lines += [
        f"first batch, {LOADERS[loader][0]}: {statistics.median(times):.0f} ms ({min(times):.0f}-{max(times):.0f})"
        for loader, times in first.items()
    ]
    result.figures |= {"ratios": ratios, "first_batch_ms": first}
    return result
