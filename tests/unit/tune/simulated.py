"""A small machine that runs a pipeline of stages in steps of a fixed time, tuned as it runs: no threads, no clock.

Each stage takes a row from the one before it, some seconds on a core and some asleep, keeps results in order and a few
of them ready. Tasks on a core share the cores evenly, or one of them where they hold the GIL.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.tune.tuner import Tuner
from penstock.tune.values import Decision, Knob, Look, StageLook

ALL: frozenset[Knob] = frozenset({"parallelism", "prefetch", "block_size", "read_ahead"})
STEP_S = 0.002
LOOK_S = 0.25


@dataclass(slots=True)
class Part:
    """One stage. cost: (seconds on a core, asleep, waiting for storage) of a task, drawn."""

    name: str
    cost: Callable[[random.Random], tuple[float, float, float]]
    parallelism: int = 1
    prefetch: int = 1
    read_ahead: int = 0
    block_size: int | None = None
    free: frozenset[Knob] = ALL
    gil: bool = False
    task_bytes: float = 1000.0
    ready: int = 0
    running: list[list[float]] = field(default_factory=list)  # sequence, then what is left of each kind of seconds
    done: set[int] = field(default_factory=set)
    claimed: int = 0
    out: int = 0
    tasks: int = 0
    seconds: float = 0.0
    waited_s: float = 0.0
    cpu_s: float = 0.0
    began: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    least: int | None = None
    most: int | None = None

    def has_room(self) -> bool:
        away = min(self.away(), self.read_ahead)
        most = 2 * self.parallelism + self.prefetch + away
        return len(self.running) + len(self.done) < most and self.ready < self.prefetch

    def away(self) -> int:
        return sum(task[3] > 0 for task in self.running)

    def may_start(self) -> bool:
        return len(self.running) < self.parallelism + min(self.away(), self.read_ahead) and self.has_room()

    def take(self) -> None:
        self.least = self.ready if self.least is None else min(self.least, self.ready)
        self.most = self.ready if self.most is None else max(self.most, self.ready)
        self.ready -= 1

    def look(self, has_input: bool) -> StageLook:
        workers = len(self.running) < self.parallelism
        told = StageLook(
            stage=self.name, parallelism=self.parallelism, prefetch=self.prefetch, block_size=self.block_size,
            read_ahead=self.read_ahead, free=self.free, rows=self.tasks, tasks=self.tasks, seconds=self.seconds,
            waited_s=self.waited_s, cpu_s=self.cpu_s, task_s=self.seconds / self.tasks if self.tasks else -1.0,
            task_bytes=self.task_bytes, task_rows=1, least_ready=self.least, most_ready=self.most,
            held=workers and has_input and not self.ready and not self.has_room(),
        )  # fmt: skip
        self.tasks, self.seconds, self.waited_s, self.cpu_s, self.least, self.most = 0, 0.0, 0.0, 0.0, None, None
        return told


@dataclass(slots=True)
class Machine:
    """Parts from the consumer's side to the source; the consumer works `pace(random)` seconds for each result."""

    parts: list[Part]
    pace: Callable[[random.Random], float]
    cpus: int = 2
    free_bytes: float = float("inf")
    pressure: Callable[[float], float | None] = lambda now: None
    seed: int = 0
    now: float = 0.0
    received: int = 0
    log: list[tuple[float, Decision]] = field(default_factory=list)
    cpu_s: float = 0.0
    tuner: Tuner | None = field(default_factory=Tuner)

    def run(self, seconds: float) -> Machine:
        """So many more seconds."""
        rng = random.Random(self.seed)
        requests = ready = 0
        wait_s, busy_until, waits, next_look = 0.0, self.now, False, self.now + LOOK_S
        end = self.now + seconds
        while self.now < end:
            self._work(rng)
            root = self.parts[0]
            while self.now >= busy_until:
                if not root.ready:
                    waits = True
                    wait_s += STEP_S
                    break
                root.take()
                requests, ready = requests + 1, ready + (not waits)
                waits, busy_until = False, max(busy_until, self.now - STEP_S) + self.pace(rng)
                self.received += 1
                self._start(rng)
            self.now += STEP_S
            if self.now >= next_look and self.tuner is not None:
                next_look = self.now + LOOK_S
                self._tune(self.tuner, requests, ready, wait_s)
                requests = ready = 0
                wait_s = 0.0
        return self

    def _start(self, rng: random.Random) -> None:
        for number, part in enumerate(self.parts):
            source = self.parts[number + 1] if number + 1 < len(self.parts) else None
            while part.may_start() and (source is None or source.ready):
                if source is not None:
                    source.take()
                cost = part.cost(rng)
                part.began[part.claimed] = (self.now, *cost[::2])
                part.running.append([part.claimed, *cost])
                part.claimed += 1

    def _work(self, rng: random.Random) -> None:
        self._start(rng)
        holders = sum(task[1] > 0 and task[3] <= 0 for part in self.parts if part.gil for task in part.running)
        on_core = sum(task[1] > 0 and task[3] <= 0 for part in self.parts for task in part.running)
        wanting = on_core - holders + min(1, holders)
        for part in self.parts:
            self._run(part, min(1.0, self.cpus / max(1, wanting)), holders)

    def _run(self, part: Part, share: float, holders: int) -> None:
        for task in list(part.running):
            if task[3] > 0:
                task[3] -= STEP_S
            elif task[1] > 0:
                spent = STEP_S * share / (max(1, holders) if part.gil else 1)
                task[1] -= spent
                self.cpu_s += spent
            elif task[2] > 0:
                task[2] -= STEP_S
            if max(task[1:]) <= 0:
                part.running.remove(task)
                number = int(task[0])
                began, cpu_s, waited_s = part.began.pop(number)
                part.done.add(number)
                part.tasks += 1
                part.seconds += self.now + STEP_S - began
                part.cpu_s += cpu_s
                part.waited_s += waited_s
        while part.out in part.done:
            part.done.discard(part.out)
            part.out += 1
            part.ready += 1

    def _tune(self, tuner: Tuner, requests: int, ready: int, wait_s: float) -> None:
        looks = []
        for number, part in enumerate(self.parts):
            has_input = number + 1 == len(self.parts) or self.parts[number + 1].ready > 0
            looks.append(part.look(has_input))
        look = Look(
            at_s=self.now, window_s=LOOK_S, cpus=self.cpus, stages=tuple(looks), requests=requests, ready=ready,
            wait_s=wait_s, free_bytes=self.free_bytes, pressure=self.pressure(self.now),
        )  # fmt: skip
        for decision in tuner.look(look):
            part = next(part for part in self.parts if part.name == decision.stage)
            assert decision.knob in part.free
            assert getattr(part, decision.knob) == decision.before
            setattr(part, decision.knob, decision.after)
            self.log.append((self.now, decision))

    def rate(self, seconds: float) -> float:
        """Results per second the consumer receives from now on, over so many seconds."""
        before = self.received
        self.run(seconds)
        return (self.received - before) / seconds


def on_core(seconds: float, spread: float = 0.2) -> Callable[[random.Random], tuple[float, float, float]]:
    """A task that computes."""
    return lambda rng: (seconds * rng.uniform(1 - spread, 1 + spread), 0.0, 0.0)


def asleep(seconds: float, core_s: float = 0.002) -> Callable[[random.Random], tuple[float, float, float]]:
    """A task that waits in user code."""
    return lambda rng: (core_s, seconds * rng.uniform(0.5, 1.5), 0.0)


def from_storage(seconds: float, core_s: float = 0.002) -> Callable[[random.Random], tuple[float, float, float]]:
    """A task that waits for storage."""
    return lambda rng: (core_s, 0.0, seconds * rng.uniform(0.5, 1.5))


def heavy_tailed(seconds: float) -> Callable[[random.Random], tuple[float, float, float]]:
    """A task that sleeps, one in fifty for twenty times as long."""
    return lambda rng: (0.002, seconds * (20 if rng.random() < 0.02 else 1), 0.0)
