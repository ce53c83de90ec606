"""Whether this thread is at work on a task: whoever opens a dataset then runs it inline, for workers start none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Place(threading.local):
    """How many tasks this thread is in: a dataset iterated in a function runs tasks of its own."""

    depth: int = 0


_place = _Place()


@contextmanager
def in_task() -> Iterator[None]:
    """While open, this thread works on a task."""
    _place.depth += 1
    try:
        yield
    finally:
        _place.depth -= 1


def is_in_task() -> bool:
    """Whether this thread works on a task."""
    return _place.depth > 0
