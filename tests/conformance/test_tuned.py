"""However it is tuned while it runs, a pipeline gives the same bytes, and resumes: no knob changes what comes."""

from __future__ import annotations

import json
import random
from itertools import islice
from pathlib import Path

import pytest

from penstock import Options
from penstock.session import tuning
from penstock.testing import assert_same_elements
from penstock.tune.values import Decision, Knob, Look
from tests.conformance.registry import Case
from tests.conformance.test_same_bytes import expected

VALUES: dict[Knob, tuple[int | None, ...]] = {
    "parallelism": (1, 2, 3, 9),
    "prefetch": (1, 2, 7),
    "block_size": (1, 2, 5, None),
    "read_ahead": (0, 1, 8),
}


class Restless:
    """A tuner that at every look turns knobs at random, as no sane one would."""

    def __init__(self) -> None:
        self._rng = random.Random(7)

    def look(self, look: Look) -> list[Decision]:
        return [
            Decision(
                stage=stage.stage, knob=knob, before=getattr(stage, knob), after=self._rng.choice(VALUES[knob]), why="?"
            )
            for stage in look.stages
            for knob in sorted(stage.free)
            if self._rng.random() < 0.5
        ]


def test_tuned_at_every_commit(case: Case, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the middle by a tuner gone mad, resumed from there by the real one."""
    whole = expected(case, files)
    step = len(whole) // 2
    monkeypatch.setattr(tuning, "INTERVAL_S", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(tuning, "Tuner", Restless)
        with case.build(files).with_options(Options(cpu_budget=3)).iterator(epoch=1) as iterator:
            received = list(islice(iterator, step))
            state = json.loads(json.dumps(iterator.state_dict()))
    with case.build(files).iterator() as iterator:
        iterator.load_state_dict(state)
        rest = list(islice(iterator, len(whole) - step))
    assert_same_elements([*received, *rest], whole, f"tuned, resumed after {step} elements")
