"""What a stage does with its workers, over its last looks since its setting changed."""

from __future__ import annotations

from collections import deque

from penstock.tune.values import StageLook

_LOOKS = 8


class Load:
    """The last looks at one stage; forgets them when told that it changed.

    rate: rows per second. waiting: tasks that waited for storage, on average; working: those at work otherwise: on a
    core, waiting for one or for the GIL, or asleep. cores: it took, on average.
    """

    def __init__(self) -> None:
        self._looks: deque[tuple[float, StageLook]] = deque(maxlen=_LOOKS)
        self._skips = 0
        self.seconds = self.rate = self.waiting = self.working = self.cores = 0.0
        self.tasks = 0

    def add(self, window_s: float, look: StageLook) -> None:
        """One more look; the first after a change shows what was before."""
        if self._skips:
            self._skips -= 1
        else:
            self._looks.append((window_s, look))
        self._sum()

    def forget(self) -> None:
        """Its setting has changed."""
        self._looks.clear()
        self._skips = 1
        self._sum()

    def _sum(self) -> None:
        tasks, rows = 0, 0
        passed_s = spent_s = waited_s = cpu_s = 0.0
        for window_s, look in self._looks:
            passed_s += window_s
            tasks += look.tasks
            rows += look.rows
            spent_s += look.seconds
            waited_s += look.waited_s
            cpu_s += look.cpu_s
        self.seconds, self.tasks = passed_s, tasks
        each_s = 1 / passed_s if passed_s > 0 else 0.0
        self.rate, self.waiting, self.cores = rows * each_s, waited_s * each_s, cpu_s * each_s
        self.working = max(0.0, spent_s - waited_s) * each_s

    @property
    def is_known(self) -> bool:
        """Whether enough tasks came back to say what follows."""
        return bool(self._looks) and self.tasks >= 2 and self.seconds >= 2 * self._looks[-1][1].task_s

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
    def was_full(self) -> bool:
        """Whether it had as many blocks ready as it may keep, so that it stopped."""
        return any(look.held or (look.most_ready or 0) >= look.prefetch for _, look in self._looks)

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
