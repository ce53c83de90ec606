"""How much of their time Python steps hold the GIL or wait for it: an estimate from looks at single moments.

A look comes twenty times a second, from a thread of its own, and only while user functions run as Python. It lets go of
the GIL meanwhile and sees how long it takes to have it back: longer than to be woken up, and somebody held it.
Then it asks of each thread what it does. From the looks at the threads of a step:

    away     of its seconds, those asleep or in a call that reads
    queued   those in which it waited for a core (the system counts them)
    held     those in which it held the GIL: the looks that found it held, shared by those who may have held it
    free     CPU seconds (its thread's clock) beyond held: on a core without the GIL

What is left of its busy seconds is the estimate: busy - away - free - queued, less of queued the more looks found it
held: who waits for a core while the GIL is held mostly waits for the GIL, which the queue alone cannot tell.
A look that waited less than CPython lets a thread hold the GIL (5 ms) had it from a holder that gave it up, which may
be asleep when it is asked what it does: so it counts as held in part, and away that much less.
On a busy machine a thread that waits for the GIL looks able to run, since it wakes up every 5 ms to ask for it.

Error, by benchmarks/micro/gil_estimate.py (shares of busy seconds, 3 s each, one and two threads, on two cores that
some ten other processes kept busy): mean 0.08. Pure Python -0.14 to 0.00, NumPy on large arrays +0.04 to +0.07, sleep
0.00, a tenth Python and sleep -0.07 to +0.07, half Python half sleep 0.00 and +0.23, half Python half NumPy 0.00 and
+0.37: what waits for a core behind other processes, in code without the GIL, is taken for waiting for the GIL.
Fewer than _LEAST looks give no estimate.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from penstock.telemetry.clock import Clock
from penstock.telemetry.thread_states import State, ThreadStates

Key = tuple[int, str]

INTERVAL_S = 0.05
_BEGIN_S = 0.05
_HELD_S = 5e-4
_TAKEN_AWAY_S = 4.5e-3
_BY_MISTAKE, _SURE = 0.15, 0.85  # looks that find it held: of NumPy and of pure Python, on a busy machine
_LEAST = 10


@dataclass(slots=True)
class Looks:
    """Of one step, by thread-moments: one for each of its threads at each look.

    held: at looks that found the GIL held. holding: of these, the part that its threads held it. away: asleep or
    reading; reading: of these, in a call that reads. seen: waiting for it while another held it, plain to see.
    watched_s, queued_s: seconds between looks that found a thread in the step both times, and of these for a core.
    """

    moments: int = 0
    held: int = 0
    holding: float = 0.0
    away: float = 0.0
    reading: int = 0
    seen: int = 0
    watched_s: float = 0.0
    queued_s: float = 0.0

    def gil_share(self, cpu_share: float) -> float | None:
        """Of its busy seconds, those with the GIL or waiting for it. cpu_share: of these, on a core."""
        if self.moments < _LEAST:
            return None
        held = self.held / self.moments
        free = max(0.0, cpu_share - self.holding / self.moments)
        wants = min(1.0, max(0.0, (held - _BY_MISTAKE) / (_SURE - _BY_MISTAKE)))  # of the queue, for the GIL
        left = 1.0 - self.away / self.moments - free - (self.queued_share() or 0.0) * (1.0 - wants)
        return min(1.0, max(left, self.seen / self.moments, 0.0))

    def reading_share(self) -> float | None:
        return self.reading / self.moments if self.moments >= _LEAST else None

    def queued_share(self) -> float | None:
        return min(1.0, self.queued_s / self.watched_s) if self.moments >= _LEAST and self.watched_s else None

    def add(self, state: State, *, is_held: bool, holding: float) -> None:
        """One of its threads at a look. holding: how likely it held the GIL then."""
        self.moments += 1
        self.held += is_held
        if state in _AWAY:
            self.away += 1.0 - holding
        self.reading += state == "reading"
        self.seen += is_held and state == "gil"  # else it may wait for the look itself
        self.holding += holding


_AWAY = ("waiting", "reading")


def holders(wait_s: float, inside: Collection[int], found: Mapping[int, State]) -> Collection[int]:
    """The threads of which one held the GIL when a look came that then waited so long for it; none: it was free.

    inside: threads in steps. found: what these and all other threads of Python do once the look has the GIL. It was
    taken away from one that is able to run still, or given up by one that may do anything but wait for it again.
    """
    if wait_s <= _HELD_S:
        return ()
    able = [thread for thread, state in found.items() if state not in _AWAY]
    if wait_s >= _TAKEN_AWAY_S and able:
        return able
    return [
        thread for thread, state in found.items() if state == "running" or (thread in inside and state in _AWAY)
    ] or able  # fmt: skip


@dataclass(slots=True)
class GilWatch:
    """The looks of one run. `enter` and `leave` are called by the threads that run user functions as Python.

    starts: whether a thread may be started for it. closing: set when the run ends, which ends the thread.
    """

    clock: Clock
    closing: threading.Event
    starts: bool = False
    looks: dict[Key, Looks] = field(default_factory=dict)
    sleep: Callable[[float], None] = time.sleep
    _inside: dict[int, Key] = field(default_factory=dict)
    _spent_s: float = 0.0
    _before: dict[int, tuple[Key, float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, key: Key) -> Key | None:
        """The calling thread runs a function of step `key`; gives the step it is in already. Cost: 0.1 us."""
        thread = threading.get_native_id()
        before = self._inside.get(thread)
        self._inside[thread] = key
        return before

    def leave(self, before: Key | None, seconds: float) -> None:
        """It has ended, after so long. The first to have spent enough starts the looks."""
        if before is None:
            self._inside.pop(threading.get_native_id(), None)
        else:
            self._inside[threading.get_native_id()] = before
        if self.starts:
            self._spent_s += seconds
            if self._spent_s >= _BEGIN_S:
                self._start()

    def _start(self) -> None:
        with self._lock:
            starts, self.starts = self.starts, False
        if starts and not self.closing.is_set():
            threading.Thread(target=self._run, name="penstock-gil-watch", daemon=True).start()

    def _run(self) -> None:
        try:
            states = ThreadStates()
        except OSError:
            return  # the system does not tell, so nothing is estimated
        try:
            while not self.closing.is_set():
                self.look(states)
        finally:
            states.close()

    def look(self, states: ThreadStates) -> None:
        """Wait for about INTERVAL_S without the GIL, look, and count what is seen."""
        others = [thread.native_id for thread in threading.enumerate() if thread.native_id is not None]
        mine = threading.get_native_id()
        for thread in others:
            states.know(thread)
        waited_s = self._wait_s(states, mine)
        inside = dict(self._inside)
        if not inside:
            self._before = {}
            return
        found = {thread: states.state(thread) for thread in {*inside, *others} if thread != mine}
        now = self.clock.now()
        queued = {thread: states.queued_s(thread) for thread in inside}
        holding = holders(waited_s, inside, found)
        before, self._before = self._before, {}
        for thread, key in inside.items():
            looks = self.looks.setdefault(key, Looks())
            share = 1 / len(holding) if thread in holding else 0.0
            looks.add(found[thread], is_held=bool(holding), holding=share)
            key_before, at, queued_before = before.get(thread, (None, 0.0, 0.0))
            if key_before == key:
                looks.watched_s += now - at
                looks.queued_s += queued[thread] - queued_before
            self._before[thread] = key, now, queued[thread]

    def _wait_s(self, states: ThreadStates, mine: int) -> float:
        """Be without the GIL for about INTERVAL_S; gives how long it then took to have it back.

        Seconds in which this thread waited for a core do not count. Nothing else here lets go of the GIL.
        """
        away_s = INTERVAL_S * (0.5 + random.random())  # never in step with what it looks at
        began, cpu_s, queued_s = self.clock.now(), self.clock.cpu(), states.queued_s(mine)
        self.sleep(away_s)
        spent_s = self.clock.now() - began - away_s
        return spent_s - (self.clock.cpu() - cpu_s) - (states.queued_s(mine) - queued_s)
