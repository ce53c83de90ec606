"""Training the same thing in several precisions: how fast, how much memory, and whether it learns the same."""

from __future__ import annotations

import gc
import inspect
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

from penstock.errors import InvalidArgumentError
from penstock.machine.memory import rss_bytes
from penstock.train.backend import Backend, resolve_backend
from penstock.train.precision.ability import parse_precision
from penstock.train.precision.comparison import PrecisionComparison, PrecisionRun
from penstock.train.precision.lever import set_precision
from penstock.train.seed import set_seed

_WARM_UP = 2
"""Steps that are not timed: they compile."""


def compare_precision(
    build: Callable[..., Any],
    data: Iterable[Any],
    steps: int = 30,
    precisions: Sequence[str] = ("float32", "mixed_bfloat16"),
    *,
    tolerance: float = 0.05,
    seed: int = 0,
    backend: str = "auto",
    clock: Callable[[], float] = time.perf_counter,
) -> PrecisionComparison:
    """Train `steps` steps in each precision, from the same weights on the same batches, one after the other.

    build: gives a compiled Keras model, or, for loops of one's own, a function that takes a batch, does one step and
    gives its loss. It is called once for each precision, after seeding; if it demands an argument, with the precision's
    name (for `autocast` and `grad_scaler`, or `casting_policy`). Keras' later models get the weights of the first.
    data: batches, as `fit` takes them (x, y[, sample_weight]) of Keras; the first `steps` are kept in memory and used
    over again if they are fewer. tolerance: see `PrecisionComparison`. The policy is afterwards what it was; seeds of
    Python, NumPy and the framework are not.

    Raises: InvalidArgumentError: too few steps, no data, no such precision, or the device cannot compute in it.
    Cost: the training, and a compilation for each precision; memory for the batches.
    """
    names = [parse_precision(each) for each in precisions]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidArgumentError("compare_precision: precisions", got=repr(precisions), expected="two or more names")
    if type(steps) is not int or steps <= _WARM_UP + 1:
        raise InvalidArgumentError("compare_precision: steps", got=repr(steps), expected=f"an integer > {_WARM_UP + 1}")
    batches = list(itertools.islice(iter(data), steps))
    if not batches:
        raise InvalidArgumentError("compare_precision: data has no batch", expected="one at least")
    chosen = resolve_backend(backend)
    weights: list[Any] = []
    runs = []
    for name in names:
        with _precision(chosen, name) as resolved:
            set_seed(chosen, seed)
            peak = _Peak(chosen)
            made = build(resolved) if _takes_precision(build) else build()
            losses, times = _train(_step(made, batches[0], weights), batches, steps, clock, peak)
        low, middle, high = statistics.quantiles(times[_WARM_UP:], n=4, method="inclusive")
        runs.append(
            PrecisionRun(
                precision=resolved, step_s=middle, quartiles_s=(low, high), losses=losses,
                host_bytes=peak.host_bytes, device_bytes=peak.device_bytes(),
            )
        )  # fmt: skip
    return PrecisionComparison(runs=tuple(runs), tolerance=tolerance, rows=len(batches))


@contextmanager
def _precision(backend: Backend, precision: str) -> Iterator[str]:
    """Within it, Keras' policy is `precision`; gives the name that it comes to."""
    name, changes = set_precision(backend, precision)
    try:
        yield name
    finally:
        for change in changes:
            if change.undo is not None:
                change.undo()


def _train(
    step: Callable[[Any], Any], batches: list[Any], steps: int, clock: Callable[[], float], peak: _Peak
) -> tuple[tuple[float, ...], list[float]]:
    """The losses and the seconds of each step."""
    losses, times = [], []
    for batch in itertools.islice(itertools.cycle(batches), steps):
        start = clock()
        loss = step(batch)
        losses.append(float(loss.detach() if hasattr(loss, "detach") else loss))  # which waits for the device
        times.append(clock() - start)
        peak.look()
    return tuple(losses), times


def _takes_precision(build: Callable[..., Any]) -> bool:
    return any(
        each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        for each in inspect.signature(build).parameters.values()
    )


def _step(made: Any, batch: Any, weights: list[Any]) -> Callable[[Any], Any]:
    """One step of what `build` made. weights: of the first Keras model; taken, or given to the later ones."""
    keras = sys.modules.get("keras")
    if keras is None or not isinstance(made, keras.Model):
        if not callable(made):
            raise InvalidArgumentError(
                "compare_precision: build gave", got=type(made).__name__,
                expected="a compiled Keras model, or a function of a batch that gives its loss",
            )  # fmt: skip
        step: Callable[[Any], Any] = made
        return step
    if not made.compiled:
        raise InvalidArgumentError("compare_precision: build gave a Keras model", expected="one that is compiled")
    if not made.built:
        made.build(keras.tree.map_structure(lambda leaf: leaf.shape, batch[0]))
    if weights:
        made.set_weights(weights)
    else:
        weights.extend(made.get_weights())

    def train(batch: Any) -> Any:
        made.reset_metrics()  # its loss is the mean since then
        return made.train_on_batch(*batch, return_dict=True)["loss"]

    return train


class _Peak:
    """The most memory since it was made: resident bytes more than then; on the device, as the framework tells."""

    def __init__(self, backend: Backend) -> None:
        self._module = cast("Any", sys.modules.get(backend))
        self._backend = backend
        gc.collect()
        self._base = rss_bytes()
        self.host_bytes = 0
        with suppress(Exception):  # frameworks refuse in ways of their own where there is no accelerator
            if backend == "torch":
                self._module.cuda.reset_peak_memory_stats()
            elif backend == "tensorflow":
                self._module.config.experimental.reset_memory_stats("GPU:0")

    def look(self) -> None:
        self.host_bytes = max(self.host_bytes, rss_bytes() - self._base)

    def device_bytes(self) -> int | None:
        """None: nothing tells it, as on a CPU. JAX tells the most since it started, not since a moment."""
        with suppress(Exception):  # likewise
            if self._backend == "torch" and self._module.cuda.is_available():
                return int(self._module.cuda.max_memory_allocated())
            if self._backend == "tensorflow":
                return int(self._module.config.experimental.get_memory_info("GPU:0")["peak"])
            if self._backend == "jax":
                return int(self._module.local_devices()[0].memory_stats()["peak_bytes_in_use"])
        return None
