"""What kind of process this is: one of the user's own, or one that another started to work for it."""

from __future__ import annotations

import os
import sys

WORKER_MARK = "PENSTOCK_WORKER"
"""Set in the environment of worker processes, and of what they start."""

_IMPORTED_BY = os.getpid()


def is_helper() -> bool:
    """Whether this process works for another: a worker of ours, a child of multiprocessing, or a fork.

    Such a process should start no workers of its own accord: its siblings would do the same.
    """
    if WORKER_MARK in os.environ or os.getpid() != _IMPORTED_BY:
        return True
    multiprocessing = sys.modules.get("multiprocessing.process")
    return multiprocessing is not None and multiprocessing.parent_process() is not None
