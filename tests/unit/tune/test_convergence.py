"""Over simulated loads the tuner finds a setting that does, soon, and stays there."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.unit.tune.simulated import Machine, Part, asleep, from_storage, heavy_tailed, on_core

Pace = Callable[[random.Random], float]


def at_once(rng: random.Random) -> float:
    return 0.0


def every(seconds: float, spread: float = 0.0) -> Pace:
    return lambda rng: seconds * rng.uniform(1 - spread, 1 + spread)


def settled(machine: Machine, after_s: float) -> bool:
    """Nothing but a trial and its end now and then is done later on."""
    late = [decision for at, decision in machine.log if at > after_s]
    return len(late) <= 4


@pytest.mark.parametrize(
    ("part", "best", "cores"),
    [
        (Part("map", on_core(0.016)), 125, 2.0),
        (Part("map", asleep(0.030)), 900, 2.0),
        (Part("map", from_storage(0.030)), 850, 2.0),
        (Part("map", from_storage(0.030, core_s=0.010)), 200, 2.0),
        (Part("map", heavy_tailed(0.010)), 700, 2.0),
    ],
    ids=["computes", "sleeps", "reads", "reads and computes", "heavy-tailed"],
)
def test_from_the_worst_setting_to_near_the_best(part: Part, best: float, cores: float) -> None:
    machine = Machine([part], at_once).run(12)
    assert machine.rate(4) >= 0.75 * best
    assert machine.cpu_s <= cores * machine.now * 1.01


def test_threads_that_hold_the_gil_are_not_multiplied() -> None:
    part = Part("map", on_core(0.016), gil=True)
    machine = Machine([part], at_once, cpus=4).run(30)
    assert part.parallelism == 4
    assert sum(decision.after == 8 for _, decision in machine.log) <= 3  # tried, taken back, and tried more rarely


def test_the_slow_stage_of_three_gets_the_workers() -> None:
    parts = [Part("batch", on_core(0.002)), Part("map", on_core(0.016)), Part("read", on_core(0.002))]
    machine = Machine(parts, at_once, cpus=4).run(10)
    assert parts[1].parallelism == 4
    assert machine.rate(3) >= 160


@pytest.mark.parametrize("pace", [0.05, 0.02])
def test_a_slow_consumer_is_served_by_as_few_as_will_do(pace: float) -> None:
    part = Part("map", on_core(0.016), parallelism=4, prefetch=2)
    machine = Machine([part], every(pace), cpus=4).run(15)
    assert part.parallelism == (1 if pace > 0.03 else 2)
    assert machine.rate(5) >= 0.99 / pace
    assert settled(machine, 8)


def test_a_consumer_that_comes_in_bursts_finds_more_kept_ready() -> None:
    part = Part("map", on_core(0.016), parallelism=2)
    machine = Machine([part], lambda rng: rng.choice([0, 0, 0, 0.048])).run(20)
    assert part.prefetch >= 8
    assert machine.rate(5) >= 0.95 / 0.012


def test_a_tail_before_a_paced_consumer_is_bridged_and_then_left_alone() -> None:
    part = Part("map", heavy_tailed(0.010), parallelism=2)
    machine = Machine([part], every(0.008)).run(15)
    assert machine.rate(10) >= 0.99 / 0.008
    assert len([at for at, _ in machine.log if at > 10]) <= 5


def test_memory_pressure_shrinks_what_is_kept_and_its_end_lets_it_grow() -> None:
    part = Part("map", on_core(0.016), parallelism=2, prefetch=32, task_bytes=2.0**22)
    machine = Machine([part], lambda rng: rng.choice([0, 0, 0, 0.048]))
    machine.pressure = lambda now: 0.3 if now < 8 else 0.0
    machine.run(8)
    assert part.prefetch <= 4
    machine.run(12)
    assert part.prefetch >= 4


def test_the_ledger_is_never_asked_for_more_than_it_has() -> None:
    part = Part("map", asleep(0.030), task_bytes=1e6)
    Machine([part], at_once, free_bytes=20e6).run(10)
    assert part.parallelism * 1e6 <= 10e6
    assert part.prefetch * 1e6 <= 5e6


def test_what_was_said_stays() -> None:
    part = Part("map", asleep(0.030), parallelism=3, free=frozenset({"prefetch"}))
    Machine([part], at_once).run(8)
    assert part.parallelism == 3
