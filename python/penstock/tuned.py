"""A tuning that was found, as data to keep: the next run starts from it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from penstock.errors import InvalidArgumentError

_LEAST = {"parallelism": 1, "prefetch": 1, "block_size": 1, "read_ahead": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTuning:
    """What one stage starts with; None: as the plan says.

    stage: its number and verb ("3:map"), as in the tuning log. parallelism: tasks at once; waits: they mostly wait in
    user code, so there may be more of them than cores. prefetch: finished blocks kept ready. block_size: rows of a task
    at most. read_ahead: tasks beyond these that may wait for storage.
    """

    stage: str
    parallelism: int | None = None
    prefetch: int | None = None
    block_size: int | None = None
    read_ahead: int | None = None
    waits: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.stage, str):
            raise InvalidArgumentError("StageTuning: stage", got=repr(self.stage), expected='a name like "3:map"')
        for name, least in _LEAST.items():
            value: Any = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise InvalidArgumentError(
                    f"StageTuning: {name}", got=repr(value), expected=f"an integer >= {least} or None", where=self.stage
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenTuning:
    """`penstock.freeze(iterator)`: the setting of every stage, for `AutotuneOptions(start=...)`.

    pipeline: the verbs it was found for, as "number:verb"; empty where that is not known, as of a log.
    """

    stages: tuple[StageTuning, ...]
    pipeline: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(self.stages))
        object.__setattr__(self, "pipeline", tuple(self.pipeline))
        if not all(isinstance(stage, StageTuning) for stage in self.stages):
            raise InvalidArgumentError("FrozenTuning: stages", got=repr(self.stages)[:80], expected="StageTuning(...)")

    def with_all(self, **knobs: int | None) -> FrozenTuning:
        """The same with some knobs of every stage set: `with_all(parallelism=1, prefetch=1)`."""
        return replace(self, stages=tuple(replace(stage, **knobs) for stage in self.stages))  # type: ignore[arg-type]  # names are checked by the record

    def to_json(self) -> str:
        """As text, for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> FrozenTuning:
        """What `to_json` wrote. Raises: InvalidArgumentError: something else."""
        try:
            document = json.loads(text)
            known = {field.name for field in fields(StageTuning)}
            if any(set(stage) - known for stage in document["stages"]):
                raise ValueError("a stage has unknown fields")
            stages = tuple(StageTuning(**stage) for stage in document["stages"])
            return cls(stages=stages, pipeline=tuple(map(str, document["pipeline"])))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, InvalidArgumentError):
                raise
            raise InvalidArgumentError(
                "not a tuning that was frozen", got=f"{type(error).__name__}: {error}", expected="text of to_json()"
            ) from error
