"""One sentence on what the figures say, whoever comes out first."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.cli.demo.feeds import engine, generator
from penstock.cli.demo.outcome import Outcome

SAME = 0.05  # ratios nearer to 1 than this are noise


def verdict(outcomes: Sequence[Outcome]) -> str:
    """From the measured figures alone: Penstock's rate, its ratio to each other feed, the waiting under each."""
    ours = next(outcome for outcome in outcomes if outcome.name == engine.NAME)
    others = [outcome for outcome in outcomes if outcome is not ours]
    target = "accelerator" if ours.au is not None else "model"
    compared = _listed([_ratio(ours, other) for other in others])
    return f"{ours.name} fed the {target} at {ours.images_per_s:,.0f} images/s, {compared}; {_waiting(ours, others)}."


def _name(outcome: Outcome) -> str:
    return "the generator" if outcome.name == generator.NAME else outcome.name


def _ratio(ours: Outcome, other: Outcome) -> str:
    ratio = ours.images_per_s / other.images_per_s
    if abs(ratio - 1) < SAME:
        return f"as fast as {_name(other)}"
    return f"{ratio:.1f} times {_name(other)}" if ratio > 1 else f"only {ratio:.2f} times {_name(other)}"


def _waiting(ours: Outcome, others: Sequence[Outcome]) -> str:
    if ours.au is not None:
        rest = _listed([f"{other.au or 0:.0%} with {_name(other)}" for other in others])
        return f"the accelerator computed {ours.au:.0%} of the time, against {rest}"
    known = [outcome for outcome in (ours, *others) if outcome.wait_share is not None]
    if not known:
        return "how long each left it waiting could not be measured"
    shares = [f"{outcome.wait_share:.0%} with {_name(outcome)}" for outcome in known]
    return f"of each step it waited {_listed(shares)}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
