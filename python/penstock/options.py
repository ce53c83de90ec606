"""Options: what the user may say about how a pipeline runs, as one frozen record. None means: not said here.

No option changes which elements arrive; `deterministic=False` may change their order, `seed` the draws.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any, Literal

from penstock.errors import InvalidArgumentError, may_pass
from penstock.tuned import FrozenTuning
from penstock.units import parse_bytes

AUTOTUNE = -1
"""Let Penstock choose (the value of `tf.data.AUTOTUNE`)."""


class AutoShardPolicy(IntEnum):
    """tf.data's names for `distribute(policy)`. HINT is not here: nothing marks a place by `SHARD_HINT`."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AutotuneOptions:
    """`options.autotune` of tf.data. The budgets are those of `Options`, which go before these.

    enabled: False keeps everything as it starts: functions stay in the threads they began in, stages keep their workers
    and blocks; how many rows a task takes is measured all the same (`Options(block_size=)` fixes it).
    start: what to start from, `penstock.freeze()` of a run of the same pipeline; where enabled, it is tuned further.
    """

    enabled: bool | None = None
    cpu_budget: int | None = None
    ram_budget: int | str | None = None
    start: FrozenTuning | None = None

    def __post_init__(self) -> None:
        if self.start is not None and not isinstance(self.start, FrozenTuning):
            raise InvalidArgumentError(
                "AutotuneOptions: start", got=repr(self.start)[:80], expected="penstock.freeze(iterator)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadingOptions:
    """`options.threading` of tf.data.

    private_threadpool_size: threads of a pipeline, as `Options.cpu_budget`; 0: as many as there are cores.
    """

    private_threadpool_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributeOptions:
    """`options.experimental_distribute` of tf.data. auto_shard_policy: what `distribute()` does if told no policy."""

    auto_shard_policy: str | int | AutoShardPolicy | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """`on_error=Retry(...)`: call the function again, for faults that may pass.

    times: calls after the first one. backoff: seconds before the first of them; it doubles each time. on: exceptions to
    try again; None: those that may pass (`penstock.errors.may_pass`: connections, time limits, busy files). then: what
    happens when the last call fails, or at once for another fault: "raise", or "skip" the element.

    Random ops of the element draw the same each time, so an element that came at the second call is as at the first.
    """

    times: int = 3
    backoff: float = 0.1
    on: type[Exception] | tuple[type[Exception], ...] | None = None
    then: Literal["raise", "skip"] = "raise"

    def __post_init__(self) -> None:
        require_integer("Retry", "times", self.times, minimum=1)
        backoff: Any = self.backoff
        if isinstance(backoff, bool) or not isinstance(backoff, int | float) or not backoff >= 0:
            raise InvalidArgumentError("Retry: backoff", got=repr(backoff), expected="seconds, 0 or more")
        kinds: Any = self.on if isinstance(self.on, tuple) else () if self.on is None else (self.on,)
        if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
            raise InvalidArgumentError("Retry: on", got=repr(self.on), expected="exception classes, or None")
        if self.then not in ("raise", "skip"):
            raise InvalidArgumentError("Retry: then", got=repr(self.then), expected="'raise' or 'skip'")

    def covers(self, error: Exception) -> bool:
        """Whether to try again after `error`."""
        return may_pass(error) if self.on is None else isinstance(error, self.on)

    def wait_s(self, attempt: int) -> float:
        """Seconds before call number `attempt` (from 1) after the first."""
        return self.backoff * 2.0 ** (attempt - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """`Options(remote=RemoteOptions(...))`: how what lies behind s3://, gs://, az:// and http(s):// is read.

    max_in_flight: requests at once, of all pipelines of this process that say the same number. attempts: how often a
    request is made before its fault is an error, for faults that may pass. backoff_s: the longest wait before the
    second attempt, in seconds; it doubles each time, up to 20 s, and is drawn from its upper half. timeout_s: seconds
    one attempt may take, its bytes included. coalesce_bytes: ranges of one object at most so far apart are one request.
    cache_directory, cache_bytes: keep what is read there, up to so many bytes (or "50 GiB"); what came first stays, and
    nothing is evicted. None: nothing is kept.
    """

    max_in_flight: int = 256
    attempts: int = 5
    backoff_s: float = 0.2
    timeout_s: float = 60.0
    coalesce_bytes: int | str = 64 * 1024
    cache_directory: str | os.PathLike[str] | None = None
    cache_bytes: int | str | None = None

    def __post_init__(self) -> None:
        for name in ("max_in_flight", "attempts"):
            require_integer("RemoteOptions", name, getattr(self, name), minimum=1)
        for name, least in (("backoff_s", 0), ("timeout_s", 1e-3)):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
                raise InvalidArgumentError(
                    f"RemoteOptions: {name}", got=repr(value), expected=f"seconds, {least:g} or more"
                )
        object.__setattr__(self, "coalesce_bytes", parse_bytes(self.coalesce_bytes))
        if (self.cache_directory is None) != (self.cache_bytes is None):
            said = "cache_bytes" if self.cache_directory is None else "cache_directory"
            raise InvalidArgumentError(
                "RemoteOptions: a cache needs its directory and its size", got=f"{said} alone",
                expected="cache_directory and cache_bytes, or neither",
            )  # fmt: skip
        if self.cache_directory is not None and self.cache_bytes is not None:
            object.__setattr__(self, "cache_directory", os.path.abspath(os.fspath(self.cache_directory)))
            object.__setattr__(self, "cache_bytes", parse_bytes(self.cache_bytes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Limits and defaults of a pipeline, attached with `ds.with_options(...)`; later ones win, field by field.

    cpu_budget: cores the pipeline may use; lowers what affinity, cpuset and cgroup quota allow.
    ram_budget: bytes (or "4 GiB") that waiting blocks may hold; lowers what cgroup and free memory allow.
    cache_budget: bytes all in-memory caches of the pipeline may hold each; default half of the memory there is.
    deterministic: False delivers results as they complete, each element still exactly once.
    seed: what `shuffle(seed=None)` and random ops derive from; "entropy" draws a fresh one at each `iterator()`.
    executor: where segments run: "threads", "processes" (functions known to be pure in worker processes, the rest in
        threads), or "inline" (in the consumer's own thread, nothing ahead). A map's own `executor` goes before it. Not
        said: threads, and processes for pure functions that are measured to hold the GIL.
    max_image_pixels: height times width that the header of an image may claim before it is refused, unread; default
        178,956,970 (where Pillow refuses). For the functions of map and filter, wherever they run.
    block_size: elements per block, instead of a measured size; never changes a result.
    max_error_ratio: the largest share of its elements that `on_error="skip"` or `ignore_errors` may leave out at one
        verb, counted of at least 100; more end the iteration with TooManyErrorsError. None: any number.
    skip_rules: names of optimizer rules not to apply; never changes a result.
    autotune: what may be tuned, as tf.data's record of that name.
    threading: how many threads, likewise.
    experimental_distribute: how `distribute()` shares out, likewise.
    remote: how objects behind URLs are read: how many at once, how often, how long, and whether they are kept on disk.
    """

    cpu_budget: int | None = None
    ram_budget: int | str | None = None
    cache_budget: int | str | None = None
    deterministic: bool | None = None
    seed: int | Literal["entropy"] | None = None
    executor: Literal["threads", "processes", "inline"] | None = None
    max_image_pixels: int | None = None
    block_size: int | None = None
    max_error_ratio: float | None = None
    skip_rules: frozenset[str] | None = None
    autotune: AutotuneOptions | None = None
    threading: ThreadingOptions | None = None
    experimental_distribute: DistributeOptions | None = None
    remote: RemoteOptions | None = None

    def __post_init__(self) -> None:
        self._take_nested()
        for name in ("cpu_budget", "block_size", "max_image_pixels"):
            require_integer("Options", name, getattr(self, name), minimum=1, optional=True)
        for name in ("ram_budget", "cache_budget"):
            if getattr(self, name) is not None:
                parse_bytes(getattr(self, name))
        if self.executor not in (None, "threads", "processes", "inline"):
            raise InvalidArgumentError(
                "Options: executor", got=repr(self.executor), expected='"threads", "processes" or "inline"'
            )
        share: Any = self.max_error_ratio
        if share is not None and (isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1):
            raise InvalidArgumentError("Options: max_error_ratio", got=repr(share), expected="a share from 0 to 1")
        if isinstance(self.seed, str) and self.seed != "entropy":
            raise InvalidArgumentError("Options: seed", got=repr(self.seed), expected='an integer or "entropy"')
        if self.skip_rules is not None:
            object.__setattr__(self, "skip_rules", frozenset(self.skip_rules))

    def _take_nested(self) -> None:
        """What tf.data says in a record of its own and we say here: said there, and not here, it is said here."""
        for name, kind in (
            ("autotune", AutotuneOptions),
            ("threading", ThreadingOptions),
            ("experimental_distribute", DistributeOptions),
            ("remote", RemoteOptions),
        ):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise InvalidArgumentError(
                    f"Options: {name}", got=repr(value), expected=f"penstock.{kind.__name__}(...)"
                )
        said: dict[str, Any] = {}
        if self.threading is not None and self.threading.private_threadpool_size:
            said["cpu_budget"] = self.threading.private_threadpool_size
        if self.autotune is not None:
            said |= {"cpu_budget": self.autotune.cpu_budget or said.get("cpu_budget")}
            said |= {"ram_budget": self.autotune.ram_budget}
        for name, value in said.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    @property
    def tunes(self) -> bool:
        """Whether what runs may be changed by what is measured."""
        return self.autotune is None or self.autotune.enabled is not False

    def merged(self, over: Options) -> Options:
        """These options with what `over` says put on top."""
        said = {f.name: value for f in fields(over) if (value := getattr(over, f.name)) is not None}
        return replace(self, **said)


def require_integer(
    verb: str, name: str, value: Any, *, minimum: int | None = None, optional: bool = False, where: Any = None
) -> int | None:
    """`value` as an int. Raises: InvalidArgumentError naming the verb, the argument and its lowest value."""
    if value is None and optional:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__") or (minimum is not None and value < minimum):
        expected = "an integer" if minimum is None else f"an integer >= {minimum}"
        raise InvalidArgumentError(
            f"{verb}: {name}", got=repr(value), expected=expected + (" or None" if optional else ""), where=where
        )
    return int(value)
