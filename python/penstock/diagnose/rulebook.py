"""The one table of rules, in the order in which findings are shown, and which of them make others superfluous."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Finding
from penstock.diagnose.rules import (
    cache,
    cache_after_random,
    cores_taken,
    gil_bound,
    heavy_tail,
    idle_cores,
    large_elements,
    low_use,
    memory_creep,
    no_parallelism,
    no_prefetch,
    not_compiled,
    retrace,
    sawtooth,
    slow_decode,
    slow_function,
    slow_model,
    slow_storage,
    slow_transfer,
    small_shuffle_buffer,
    straggler,
    throttled,
)

Rule = Callable[[Case], Finding | None]

RULES: tuple[Rule, ...] = (
    # What makes results worse comes first: speed is no use to a model that is fed wrongly.
    cache_after_random.find,
    small_shuffle_buffer.find,
    # Then what explains the waiting, the most particular first.
    no_prefetch.find,
    straggler.find,
    heavy_tail.find,
    slow_storage.find,
    gil_bound.find,
    no_parallelism.find,
    slow_decode.find,
    slow_transfer.find,
    slow_function.find,
    idle_cores.find,
    cores_taken.find,
    # Then what comes on top of it.
    retrace.find,
    cache.find,
    not_compiled.find,
    large_elements.find,
    memory_creep.find,
    # Then the accelerator, and the verdict that there is nothing to do.
    sawtooth.find,
    throttled.find,
    low_use.find,
    slow_model.find,
)

EXPLAINED: dict[str, frozenset[str]] = {
    "slow_function": frozenset(
        {"no_prefetch", "straggler", "heavy_tail", "slow_storage", "gil_bound", "no_parallelism", "slow_decode"}
    ),
    "idle_cores": frozenset(
        {"no_prefetch", "straggler", "heavy_tail", "slow_storage", "gil_bound", "no_parallelism", "slow_transfer"}
        | {"slow_function", "cores_taken", "slow_decode"}
    ),
    "slow_decode": frozenset({"no_prefetch", "straggler"}),
    # Waiting for storage is why one worker is behind, and its cure is more of them.
    "no_parallelism": frozenset({"slow_storage", "no_prefetch"}),
    "cores_taken": frozenset({"slow_storage", "straggler", "gil_bound", "no_prefetch"}),
    "heavy_tail": frozenset({"straggler"}),
    "gil_bound": frozenset({"slow_storage", "straggler"}),
    "not_compiled": frozenset({"gil_bound"}),
    "sawtooth": frozenset({"no_prefetch"}),
}
"""A finding is left out where one of these was found: it says more of the same."""


def findings(case: Case) -> tuple[Finding, ...]:
    """What all rules find, without what others explain; faults first, else in the order of the rules."""
    found = [finding for rule in RULES if (finding := rule(case)) is not None]
    kinds = {finding.kind for finding in found}
    kept = [finding for finding in found if not EXPLAINED.get(finding.kind, frozenset()) & kinds]
    return tuple(sorted(kept, key=lambda finding: ("fault", "hint", "note").index(finding.level)))


def kinds(found: Iterable[Finding]) -> tuple[str, ...]:
    """Their kinds."""
    return tuple(finding.kind for finding in found)
