"""The command line. What is heavy is imported by the command that needs it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    from penstock.cli.app import run

    sys.exit(run(sys.argv[1:]))
