"""The tuner's decisions, by tables: what is seen over a second, and what is changed then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from penstock.tune.tuner import Tuner
from penstock.tune.values import Decision, Knob, Look, StageLook

ALL: frozenset[Knob] = frozenset({"parallelism", "prefetch", "block_size", "read_ahead"})
WINDOW_S = 0.25

STARVING = {"requests": 10, "ready": 0, "wait_s": 0.2}
CONTENT = {"requests": 10, "ready": 10, "wait_s": 0.0}


def stage(busy: float, cores: float = 0.0, waiting: float = 0.0, **said: object) -> StageLook:
    """A stage with so many tasks at work, cores taken, and tasks waiting for storage, on average."""
    told: dict[str, object] = {
        "stage": "1:map",
        "free": ALL,
        "rows": 100,
        "tasks": 20,
        "task_s": 0.01,
        "least_ready": 1,
        "most_ready": said.get("prefetch", 2),
    }
    told |= {"seconds": (busy + waiting) * WINDOW_S, "cpu_s": cores * WINDOW_S, "waited_s": waiting * WINDOW_S}
    return StageLook(**(told | said))  # type: ignore[arg-type]  # a table of its fields


def decisions(
    stages: StageLook | list[StageLook], asked: dict[str, float], *, looks: int = 1, cpus: int = 4, **told: object
) -> list[Decision]:
    """What a tuner that sees the same at every look decides at the last one, having decided nothing before."""
    tuner, found = Tuner(), list[Decision]()
    for number in range(looks):
        assert not found
        found = tuner.look(look(number, stages, asked, cpus=cpus, **told))
    return found


def look(number: int, stages: StageLook | list[StageLook], asked: dict[str, float], **told: object) -> Look:
    listed = tuple(stages) if isinstance(stages, list) else (stages,)
    return Look(at_s=(number + 1) * WINDOW_S, window_s=WINDOW_S, stages=listed, **(asked | told))  # type: ignore[arg-type]  # a table of its fields


def changes(found: list[Decision]) -> list[tuple[str, int | None, int | None]]:
    return [(decision.knob, decision.before, decision.after) for decision in found]


@pytest.mark.parametrize(
    ("seen", "asked", "expected"),
    [
        (stage(1.0, 1.0), STARVING, [("parallelism", 1, 2)]),
        (stage(2.9, 2.9, parallelism=3), STARVING, [("parallelism", 3, 4)]),
        (stage(4.0, 3.9, parallelism=4), STARVING, []),  # the cores are all there is
        (stage(4.0, 0.8, parallelism=4), STARVING, [("parallelism", 4, 8)]),  # they wait
        (stage(4.0, 0.1, parallelism=4), STARVING, [("parallelism", 4, 16)]),
        (stage(4.0, 3.7, parallelism=4), STARVING, []),
        (stage(8.0, 2.0, parallelism=8), STARVING, [("parallelism", 8, 16)]),
        (stage(8.0, 2.9, parallelism=8), STARVING, [("parallelism", 8, 11)]),  # 0.36 cores each
        (stage(4.0, 0.4, parallelism=4, in_processes=True), STARVING, []),
        (stage(9.0, 0.4, parallelism=9, in_processes=True), STARVING, [("parallelism", 9, 4)]),
        (stage(1.0, 1.0, free=frozenset()), STARVING, []),
        (stage(1.0, 1.0), CONTENT, []),
        (stage(0.1, 0.1, 0.9), STARVING, [("read_ahead", 0, 16)]),
        (stage(0.5, 0.5, 7.0, read_ahead=8), STARVING, [("read_ahead", 8, 16)]),
        (stage(0.5, 0.5, 0.5, read_ahead=8, parallelism=4), STARVING, [("prefetch", 2, 4)]),
        (stage(0.5, 0.5, parallelism=4), STARVING, [("prefetch", 2, 4)]),
        (stage(0.5, 0.5, parallelism=4, prefetch=64), STARVING, []),
        (stage(0.5, 0.5, parallelism=4, prefetch=8, most_ready=7), STARVING, []),  # it never was full
        (stage(0.5, 0.5, parallelism=4, free=ALL - {"prefetch"}), STARVING, []),
        (stage(1.0, 1.0, block_size=1, task_rows=64, parallelism=4), CONTENT, [("block_size", 1, 8)]),
        (stage(1.0, 1.0, block_size=8, task_rows=64, parallelism=4), CONTENT, [("block_size", 8, None)]),
        (stage(1.0, 1.0, block_size=8, task_rows=8, parallelism=4), CONTENT, []),
    ],
)
def test_first_decision(seen: StageLook, asked: dict[str, float], expected: list[object]) -> None:
    assert changes(decisions(seen, asked)) == expected


def test_memory_pressure_goes_before_all() -> None:
    seen = stage(1.0, 1.0, 0.5, prefetch=8, task_rows=32, task_bytes=2.0**22, read_ahead=16)
    found = decisions(seen, STARVING, pressure=0.2)
    assert changes(found) == [("prefetch", 8, 4), ("block_size", None, 16), ("read_ahead", 16, 8)]


def test_nothing_is_kept_further_ahead_while_memory_is_short() -> None:
    assert not decisions(stage(0.5, 0.5, parallelism=4), STARVING, pressure=0.07)


def test_what_waits_never_takes_more_than_half_of_the_bytes_that_are_left() -> None:
    seen = stage(4.0, 0.4, parallelism=4, task_bytes=1e6)
    assert changes(decisions(seen, STARVING, free_bytes=12e6)) == [("parallelism", 4, 6)]
    seen = stage(0.5, 0.5, parallelism=4, prefetch=2, task_bytes=1e6)
    assert changes(decisions(seen, STARVING, free_bytes=12e6)) == [("prefetch", 2, 3)]
    assert not decisions(seen, STARVING, free_bytes=1e6)


def test_the_stage_that_is_used_up_gets_more_and_not_the_one_that_waits_for_it() -> None:
    batch = stage(0.2, 0.2, stage="2:batch")
    source = stage(0.9, 0.9, stage="0:source")
    found = decisions([batch, source], STARVING)
    assert [(d.stage, d.knob) for d in found] == [("0:source", "parallelism")]


def test_nothing_helps_while_a_stage_that_may_not_grow_is_the_slowest() -> None:
    serial = stage(1.0, 1.0, stage="1:map", free=frozenset({"prefetch"}))
    assert not decisions([serial, stage(0.8, 0.8, stage="0:source")], STARVING)


@pytest.mark.parametrize(
    ("busy", "workers", "expected"),
    [(0.5, 4, 1), (0.9, 4, 2), (1.9, 4, 3), (2.2, 4, None), (3.0, 4, None), (0.6, 1, None), (0.3, 32, 1)],
)
def test_a_content_consumer_gets_as_many_workers_as_it_needs(busy: float, workers: int, expected: int | None) -> None:
    found = decisions(stage(busy, busy, parallelism=workers), CONTENT, looks=8)
    assert changes(found) == ([] if expected is None else [("parallelism", workers, expected)])


def test_blocks_that_were_never_needed_are_not_kept() -> None:
    seen = stage(3.0, 3.0, parallelism=4, prefetch=16, least_ready=15)
    assert changes(decisions(seen, CONTENT, looks=21)) == [("prefetch", 16, 8)]


def _driven(tuner: Tuner, seen: Callable[[int], StageLook], asked: dict[str, float], looks: range) -> list[object]:
    """What changes, when the knobs follow the decisions."""
    log: list[object] = []
    setting: dict[str, int | None] = {}
    for number in looks:
        now = replace(seen(number), **setting)  # type: ignore[arg-type]  # of its fields
        for decision in tuner.look(look(number, now, asked, cpus=2)):
            setting[decision.knob] = decision.after
            log.append((decision.knob, decision.before, decision.after))
    return log


def test_more_workers_that_bring_nothing_are_taken_back_and_not_tried_again_at_once() -> None:
    tuner, workers = Tuner(), 2

    def contending(number: int) -> StageLook:
        return stage(float(workers), 0.6, parallelism=workers)

    log: list[tuple[float, int | None]] = []
    for number in range(480):  # two minutes
        for decision in tuner.look(look(number, contending(number), STARVING, cpus=2)):
            assert decision.knob == "parallelism"
            assert decision.after is not None
            workers = decision.after
            log.append((number * WINDOW_S, workers))
    tried = [at for at, after in log if after != 2]
    assert workers == 2
    assert len(tried) <= 5
    gaps = [later - before for before, later in pairwise(tried)]
    assert all(later > 1.5 * before for before, later in pairwise(gaps))


def test_more_workers_that_bring_less_than_before_after_a_while_are_taken_back_one_trial_after_the_other() -> None:
    tuner, workers, log = Tuner(), 2, list[int | None]()

    def worsening(number: int) -> StageLook:
        rows = 50 * workers if number < 40 else 50  # then they are in each other's way
        return stage(float(workers), 0.05 * workers, parallelism=workers, rows=rows, tasks=5 * workers)

    for number in range(80):
        for decision in tuner.look(look(number, worsening(number), STARVING, cpus=2)):
            assert decision.after is not None
            workers = decision.after
            log.append(workers)
    top = log.index(max(workers for workers in log if workers))
    assert log[: top + 1] == sorted(log[: top + 1])
    assert log[top + 1 :] == [*reversed(log[:top]), 2]


def test_what_was_given_back_too_early_returns_at_once_and_stays() -> None:
    tuner = Tuner()
    assert _driven(tuner, lambda n: stage(0.9, 0.9, parallelism=4), CONTENT, range(9)) == [("parallelism", 4, 2)]
    hungry = _driven(tuner, lambda n: stage(1.2, 1.2, parallelism=2), STARVING, range(9, 14))
    assert ("parallelism", 2, 4) in hungry
    again = _driven(tuner, lambda n: stage(0.9, 0.9, parallelism=4), CONTENT, range(14, 60))
    assert ("parallelism", 4, 2) not in again


def test_every_decision_says_why() -> None:
    for decision in decisions(stage(1.0, 1.0), STARVING):
        assert "the consumer waits" in decision.why
        assert decision.predicted == pytest.approx(800)
