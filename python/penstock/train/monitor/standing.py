"""Whether a fit still runs: its function stands on the stack of its thread. What a Ctrl-C ends tells nobody.

Asked from that thread alone: the stack of another may change while it is looked at, and with PyTorch's own frames in it
that has ended processes.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType

_DEEPEST = 1000


class Standing:
    """Remembers the function that trains, by its code and thread, and holds none of its variables."""

    def __init__(self) -> None:
        self._thread = 0
        self._code: CodeType | None = None

    def note(self, frame: FrameType) -> None:
        """The function of this frame trains, in this thread. Cost: 0.1 us."""
        self._thread, self._code = threading.get_ident(), frame.f_code

    def is_there(self) -> bool:
        """Whether it has neither returned nor raised, as far as this thread knows. Cost: microseconds."""
        if self._code is None or threading.get_ident() != self._thread:
            return False
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_DEEPEST):
            if frame is None:
                return False
            if frame.f_code is self._code:
                return True
            frame = frame.f_back
        return True
