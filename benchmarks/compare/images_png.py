"""`compare.images`, PNG files, for which there is no limit: they are decoded whole."""

from benchmarks.compare.images import run as run_form
from benchmarks.harness import Result


def run(rounds: int) -> Result:
    return run_form(rounds, "png")
