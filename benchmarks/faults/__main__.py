"""`python -m benchmarks.faults [NAME ...]`: the scripts whose names contain any of these, with the doctor's line."""

from __future__ import annotations

import sys

from benchmarks.faults import judge
from benchmarks.faults.table import FAULTS, HEALTHY


def main() -> int:
    names = sys.argv[1:]
    chosen = [one for one in FAULTS + HEALTHY if not names or any(name in one.script for name in names)]
    if not chosen:
        print(f"no script whose name contains {' or '.join(names)}", file=sys.stderr)
        return 2
    print("\n".join(judge(chosen).lines[len(chosen) :]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
