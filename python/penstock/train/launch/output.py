"""The output of several workers as lines of one, each with its worker's number in front."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

KEPT_LINES = 12
_LONGEST = 64 * 1024


class Lines:
    """Cuts what one worker writes to one of its streams into lines, and passes them on with `prefix` before each.

    Of a line that was written over (progress bars return the carriage), what was there last is shown. A line of more
    than 64 KiB is passed on in pieces. tail: the last lines, without the prefix.
    """

    def __init__(self, prefix: bytes, write: Callable[[bytes], None]) -> None:
        self.tail: deque[str] = deque(maxlen=KEPT_LINES)
        self._prefix = prefix
        self._write = write
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Pass on the lines that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > _LONGEST:
            shown = self._rest.rpartition(b"\r")[2]
            if len(shown) <= _LONGEST:
                self._rest = shown
                break
            lines.append(shown[:_LONGEST])
            self._rest = shown[_LONGEST:]
        self._pass_on(lines)

    def close(self) -> None:
        """Pass on a last line that has no end."""
        rest, self._rest = self._rest, b""
        if rest:
            self._pass_on([rest])

    def _pass_on(self, lines: list[bytes]) -> None:
        shown = [line.rstrip(b"\r").rpartition(b"\r")[2] for line in lines]
        self.tail.extend(line.decode(errors="replace") for line in shown)
        if shown:
            self._write(b"".join(self._prefix + line + b"\n" for line in shown))
