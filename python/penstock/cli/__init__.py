"""The command line. What is heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit with its status."""
    from penstock.cli.app import INTERRUPTED, run

    status = run(sys.argv[1:])
    if status == INTERRUPTED:  # TensorFlow's tear-down of an iterator that was interrupted may never end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
