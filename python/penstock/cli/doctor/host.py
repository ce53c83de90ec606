"""The machine while the script runs, as the doctor's own process sees it: the script is its child."""

from __future__ import annotations

import time

from penstock.machine.host import HostReader
from penstock.machine.nvml import open_accelerators
from penstock.machine.readings import HostReading
from penstock.telemetry.trace import Sample

_FAST_S, _SLOW_S = 0.1, 0.5
_MOST = 100_000


class HostWatch:
    """Reads accelerators ten times a second and the rest twice, when `look` is called often; `samples` by Unix time.

    Cost: 1 ms of this process a reading, none of the script's.
    """

    def __init__(self) -> None:
        self.samples: list[tuple[float, Sample]] = []
        self._accelerators = open_accelerators()
        self._reader = HostReader(self._accelerators)
        self._fast_s = self._slow_s = 0.0

    @property
    def why_no_accelerators(self) -> str:
        """Why none can be read, to be said once; "": they can."""
        return self._accelerators.why_none

    def look(self) -> HostReading | None:
        """A reading if one was due, else None."""
        now = time.monotonic()
        is_slow = now >= self._slow_s
        if len(self.samples) >= _MOST or not (is_slow or (now >= self._fast_s and not self.why_no_accelerators)):
            return None
        self._fast_s = now + _FAST_S
        if is_slow:
            self._slow_s = now + _SLOW_S
        reading = self._reader.read(all_of_it=is_slow)
        self.samples.append((time.time(), Sample(at_s=0.0, host=reading)))
        return reading

    def close(self) -> None:
        """Give up the accelerators."""
        self._accelerators.close()
