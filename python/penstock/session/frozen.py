"""From a run to a tuning to keep, and whether one that was kept belongs to a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from penstock.engine.knobs import Key, Setting, knobs_of
from penstock.errors import InvalidArgumentError
from penstock.graph.node import Node
from penstock.graph.nodes import Prefetch, WithOptions
from penstock.graph.walk import nodes_of
from penstock.plan.stage import stages_of
from penstock.session.preparation import Prepared
from penstock.telemetry.trace import TuningEntry
from penstock.tuned import FrozenTuning, StageTuning

_KNOBS = ("parallelism", "prefetch", "block_size", "read_ahead")


@runtime_checkable
class Tuned(Protocol):
    """An iterator."""

    def _frozen_tuning(self) -> FrozenTuning:
        """Its settings now."""


def freeze(tuned: Tuned | Iterable[TuningEntry]) -> FrozenTuning:
    """What a run was tuned to, for `AutotuneOptions(start=...)` of the next one.

    tuned: an iterator, before or after its end, or its `tuning_log()`, of which the last word on each knob counts.
    Raises: InvalidArgumentError: neither.
    """
    given: Any = tuned
    if isinstance(given, Tuned):
        return given._frozen_tuning()
    entries: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(entry, TuningEntry) for entry in entries):
        raise InvalidArgumentError(
            "freeze: tuned", got=repr(tuned)[:80], expected="an iterator of a dataset, or its tuning_log()"
        )
    return _of_log(entries)


def _of_log(entries: Sequence[TuningEntry]) -> FrozenTuning:
    last: dict[str, dict[str, int | None]] = {}
    for entry in entries:
        # A size that was measured is no limit: it is measured again.
        if entry.knob in _KNOBS and entry.knob != "block_size":
            last.setdefault(entry.stage, {})[entry.knob] = cast("int | None", entry.after)
    stages = tuple(StageTuning(stage=stage, waits=True, **knobs) for stage, knobs in sorted(last.items()))
    return FrozenTuning(stages=stages)


def frozen_of(prepared: Prepared, settings: Mapping[Key, Setting]) -> FrozenTuning:
    """The settings of all stages of a plan; knobs that the user fixed are left out."""
    stages = []
    for stage in stages_of(prepared.plan.root):
        setting = settings.get(stage.node.key)
        knobs = knobs_of(stage, prepared.options.block_size)
        if setting is not None and knobs:
            values = {knob: getattr(setting, knob) for knob in knobs}
            stages.append(StageTuning(stage=stage.id, waits=setting.waits, **values))
    return FrozenTuning(stages=tuple(stages), pipeline=_verbs(prepared.user_graph))


def tuning_to_start_from(prepared: Prepared) -> dict[str, StageTuning]:
    """What the options say that stages start with, by stage. Raises: InvalidArgumentError: of another pipeline."""
    autotune = prepared.options.autotune
    start = None if autotune is None else autotune.start
    if start is None:
        return {}
    verbs = _verbs(prepared.user_graph)
    known = {*verbs, *(stage.id for stage in stages_of(prepared.plan.root))}
    strange = [stage.stage for stage in start.stages if stage.stage not in known]
    if (start.pipeline and start.pipeline != verbs) or strange:
        raise InvalidArgumentError(
            "AutotuneOptions: start was frozen of another pipeline",
            got=_listed(start.pipeline or tuple(strange)), expected=_listed(verbs), where=prepared.user_graph.label,
            remedy="freeze a run of this pipeline, or leave start out",
        )  # fmt: skip
    return {stage.stage: stage for stage in start.stages}


def _verbs(graph: Node) -> tuple[str, ...]:
    """The verbs of a pipeline with their numbers, but for those that change nothing of how it is tuned."""
    return tuple(f"{n.number}:{n.verb}" for n in nodes_of(graph) if not isinstance(n, Prefetch | WithOptions))


def _listed(verbs: tuple[str, ...]) -> str:
    return ", ".join(verbs[:12]) + (f" and {len(verbs) - 12} more" if len(verbs) > 12 else "")
