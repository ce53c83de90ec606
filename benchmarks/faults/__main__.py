"""`python -m benchmarks.faults [--keep DIR] [NAME ...]`: the scripts whose names contain any of these."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.faults import judge
from benchmarks.faults.table import FAULTS, HEALTHY


def main() -> int:
    """Run what is named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a script's name (default: all)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the traces there")
    arguments = parser.parse_args()
    names, keep = arguments.names, arguments.keep
    chosen = [one for one in FAULTS + HEALTHY if not names or any(name in one.script for name in names)]
    if not chosen:
        parser.error(f"no script whose name contains {' or '.join(names)}")
    if keep is not None:
        keep = keep.resolve()
        keep.mkdir(parents=True, exist_ok=True)
    print("\n".join(judge(chosen, keep).lines[len(chosen) :]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
