"""What a stage does with its workers, over its last looks since its setting changed."""

from __future__ import annotations

from collections import deque

from penstock.tune.values import StageLook

_LOOKS = 8


class Load:
    """The last looks at one stage; forgets them when told that it changed."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, StageLook]] = deque(maxlen=_LOOKS)
        self._skips = 0

    def add(self, window_s: float, look: StageLook) -> None:
        """One more look; the first after a change shows what was before."""
        if self._skips:
            self._skips -= 1
        else:
            self._looks.append((window_s, look))

    def forget(self) -> None:
        """Its setting has changed."""
        self._looks.clear()
        self._skips = 1

    @property
    def seconds(self) -> float:
        return sum(window_s for window_s, _ in self._looks)

    @property
    def tasks(self) -> int:
        return sum(look.tasks for _, look in self._looks)

    @property
    def is_known(self) -> bool:
        """Whether enough tasks came back to say what follows."""
        return bool(self._looks) and self.tasks >= 2 and self.seconds >= 2 * self._looks[-1][1].task_s

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self._per_second("rows")

    @property
    def waiting(self) -> float:
        """Tasks that waited for storage, on average."""
        return self._per_second("waited_s")

    @property
    def working(self) -> float:
        """Tasks at work otherwise, on average: on a core, waiting for one or for the GIL, or sleeping."""
        return max(0.0, self._per_second("seconds") - self.waiting)

    @property
    def cores(self) -> float:
        """Cores it took, on average."""
        return self._per_second("cpu_s")

    @property
    def core_share(self) -> float:
        """Of the time in tasks that does not go to storage, the part on a core."""
        return min(1.0, self.cores / self.working) if self.working > 0 else 1.0

    @property
    def spare_blocks(self) -> int | None:
        """Finished blocks that there were beyond the one taken, at the least; None: none was taken."""
        least = [look.least_ready for _, look in self._looks if look.least_ready is not None]
        return min(least) - 1 if least else None

    @property
    def is_full(self) -> bool:
        """Whether there are as many looks as are kept."""
        return len(self._looks) == _LOOKS

    def usage(self, look: StageLook) -> float:
        """How much of what its setting allows is used, 0 to about 1."""
        usage = self.working / look.parallelism
        if self.waiting > 0:
            usage = max(usage, (self.working + self.waiting) / (look.parallelism + look.read_ahead))
        return usage

    def _per_second(self, name: str) -> float:
        seconds = self.seconds
        total: float = sum(getattr(look, name) for _, look in self._looks)
        return total / seconds if seconds > 0 else 0.0
