"""`compare.images`, the middle of each image, as validation data are loaded: resize 256, centre crop 224."""

from benchmarks.compare.images import run as run_form
from benchmarks.harness import Result


def run(rounds: int) -> Result:
    return run_form(rounds, "validation")
