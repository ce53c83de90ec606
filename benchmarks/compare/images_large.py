"""`compare.images`, photographs of 2000 x 1500 (scaled up from smaller ones)."""

from benchmarks.compare.images import run as run_form
from benchmarks.harness import Result


def run(rounds: int) -> Result:
    return run_form(rounds, "large")
