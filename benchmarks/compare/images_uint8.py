"""`compare.images`, batches of bytes: no normalisation."""

from benchmarks.compare.images import run as run_form
from benchmarks.harness import Result


def run(rounds: int) -> Result:
    return run_form(rounds, "uint8")
