"""Whether the consumer starves, falls short now and then, or is content: judged over its last requests."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from penstock.tune.values import Look

WANTED_READINESS = 0.99
STARVING_SHARE = 0.02  # of its time it waits: it could go that much faster
SHORT_SHARE = 0.002  # below that, misses cost nothing worth a change
CONTENT_SHARE = 0.005
CONTENT_S = 2.0
_NOW_S = 0.45
_NOW_REQUESTS = 20
_LONG_S = 10.0
_LONG_REQUESTS = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests over some time. wait_share: of its time that the consumer waited."""

    seconds: float = 0.0
    requests: int = 0
    ready: int = 0
    wait_s: float = 0.0

    def __add__(self, other: Asked) -> Asked:
        return Asked(
            self.seconds + other.seconds,
            self.requests + other.requests,
            self.ready + other.ready,
            self.wait_s + other.wait_s,
        )

    def __sub__(self, other: Asked) -> Asked:
        return Asked(
            self.seconds - other.seconds,
            self.requests - other.requests,
            self.ready - other.ready,
            self.wait_s - other.wait_s,
        )

    @property
    def wait_share(self) -> float:
        return min(1.0, self.wait_s / self.seconds) if self.seconds > 0 else 0.0

    @property
    def readiness(self) -> float:
        return self.ready / self.requests if self.requests else 1.0

    @property
    def misses(self) -> int:
        return self.requests - self.ready


class Consumer:
    """The requests of the last looks."""

    def __init__(self) -> None:
        self._recent: deque[Asked] = deque()
        self._all = Asked()
        self._content_since: float | None = None

    def add(self, look: Look) -> None:
        """One more look."""
        asked = Asked(look.window_s, look.requests, look.ready, look.wait_s)
        self._recent.append(asked)
        self._all = self._all + asked
        while self._all.seconds > _LONG_S or self._all.requests > _LONG_REQUESTS:
            rest = self._all - self._recent[0]
            if rest.seconds < CONTENT_S:
                break
            self._recent.popleft()
            self._all = rest
        if asked.wait_share > CONTENT_SHARE and (asked.misses > 1 or asked.readiness < WANTED_READINESS):
            self._content_since = None
        elif self._content_since is None:
            self._content_since = look.at_s - look.window_s

    def forget(self, at_s: float) -> None:
        """Something changed: what was before says nothing of what comes."""
        self._recent.clear()
        self._all = Asked()
        if self._content_since is not None:
            self._content_since = at_s

    @property
    def now(self) -> Asked:
        """The last half a second, or some twenty requests."""
        now = Asked()
        for asked in reversed(self._recent):
            now = now + asked
            if now.seconds >= _NOW_S or now.requests >= _NOW_REQUESTS:
                break
        return now

    @property
    def starves(self) -> bool:
        """It waits for a part of its time that matters, at this moment."""
        now = self.now
        return now.wait_share > STARVING_SHARE and (now.misses > 1 or now.requests == 0)

    @property
    def falls_short(self) -> bool:
        """Over its last requests too many found nothing."""
        total = self._all
        return total.misses > 1 and total.readiness < WANTED_READINESS and total.wait_share > SHORT_SHARE

    def is_content(self, at_s: float) -> bool:
        """It found what it asked for during the last seconds."""
        return self._content_since is not None and at_s - self._content_since >= CONTENT_S and not self.falls_short
