"""CPU seconds and memory of this process and of those it started."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil


@dataclass(slots=True)
class Meter:
    """`rss_peak_bytes`: the most that a look has seen, of all these processes together."""

    process: psutil.Process = field(default_factory=psutil.Process)
    rss_peak_bytes: int = 0

    def cpu_s(self) -> float:
        """CPU seconds so far, of processes that have ended too."""
        ended = os.times()
        running = self._of_children(lambda child: sum(child.cpu_times()[:2]))
        return time.process_time() + ended.children_user + ended.children_system + running

    def look(self) -> int:
        """Bytes in memory now. Cost: some 0.1 ms, and as much for each process started."""
        rss = int(self.process.memory_info().rss + self._of_children(lambda child: child.memory_info().rss))
        self.rss_peak_bytes = max(self.rss_peak_bytes, rss)
        return rss

    def _of_children(self, of: Callable[[psutil.Process], float]) -> float:
        found = 0.0
        for child in self.process.children(recursive=True):
            try:
                found += of(child)
            except psutil.Error:  # ended since
                continue
        return found
