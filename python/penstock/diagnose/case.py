"""Case: a trace with what was concluded from it first; every rule looks at one, and at nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.diagnose.finding import Level
from penstock.diagnose.steps import label_to_blame, seconds_of, stage_of, step_to_blame, verbs_of
from penstock.diagnose.verdict import Verdict
from penstock.diagnose.waiting import Waiting
from penstock.diagnose.whatif import gain_of
from penstock.model.limits import Limits
from penstock.model.predict import Change
from penstock.telemetry.trace import StageTrace, StepTrace, Trace

_MOST_GAIN, _LEAST_GAIN = 20.0, 1.05


@dataclass(frozen=True)
class Case:
    """What a rule is given."""

    trace: Trace
    waiting: Waiting
    verdict: Verdict
    limits: Limits

    @property
    def is_input_bound(self) -> bool:
        """Whether advice on the input's speed is asked for."""
        return self.verdict.kind == "input-bound"

    @property
    def level(self) -> Level:
        """Of a finding that explains the waiting."""
        return "fault" if self.verdict.is_fault else "hint"

    @cached_property
    def step(self) -> StepTrace | None:
        """The step to blame."""
        return step_to_blame(self.trace, self.limits)

    @cached_property
    def stage(self) -> StageTrace | None:
        """The stage to blame: of the step, or of a foreign loader the one nearest the trainer."""
        if self.step is not None:
            return stage_of(self.trace, self.step)
        return self.trace.stages[0] if self.trace.stages else None

    @property
    def blame(self) -> str:
        """The step to blame, or what stands for it."""
        return label_to_blame(self.trace, self.step)

    @property
    def gain(self) -> float | None:
        """Throughput without any waiting over throughput now: what mending the input gives at most."""
        share = self.waiting.share
        return None if share is None else 1.0 / max(1.0 - share, 1.0 / _MOST_GAIN)

    def gain_up_to(self, factor: float) -> float | None:
        """The gain where the input gets faster by `factor` and no more."""
        return None if self.gain is None else min(self.gain, max(factor, 1.0))

    def gain_after(self, change: Change | None, most: float) -> float | None:
        """The gain that the model predicts of a change; where it cannot, or sees none, what `most` and waiting allow.

        The cure of what was found is never said to gain nothing: there the model lacks what the finding knows.
        """
        predicted = None
        if change is not None and self.step is not None:
            predicted = gain_of(self.trace, change)
        return self.gain_up_to(most) if predicted is None or predicted < _LEAST_GAIN else predicted

    @property
    def reached(self) -> float | None:
        """How much the run used of what the pipeline could deliver at most, 0 to 1 and somewhat above."""
        bound = self.limits.pipeline
        return None if bound is None else self.limits.elements_per_s / bound.elements_per_s

    def busy_share(self, step: StepTrace) -> float:
        """A step's share of the time in which workers of any verb were busy, each verb by its own workers."""
        total = sum(seconds_of(self.trace, one) for one in verbs_of(self.trace))
        return seconds_of(self.trace, step) / total if total > 0 else 0.0
