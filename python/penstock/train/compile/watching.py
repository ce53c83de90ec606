"""Retraces: how often the trainer's function was compiled again, for which leaf, at which step, and what it cost.

A new signature at our own iterators is the sign that holds on every framework (TensorFlow's XLA compiles for each
shape while it counts one trace); what frameworks tell of their compilations confirms it and says what it cost.
TensorFlow does not tell of XLA: a step with a new shape that took more than twice the usual cost what it took longer.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from statistics import median
from types import TracebackType
from typing import Any

from penstock.diagnose.conclude import diagnose
from penstock.diagnose.finding import Finding
from penstock.engine.nested.inside import is_in_task
from penstock.errors import user_location
from penstock.probes import compiling
from penstock.probes.patching import Patcher
from penstock.probes.recording import this_host
from penstock.probes.shapes import Shapes
from penstock.probes.trainer import trainer
from penstock.probes.watch import source_of
from penstock.telemetry.delivered import DELIVERED
from penstock.telemetry.trace import Consumer, Retrace, Source, Trace
from penstock.units import format_seconds

_AHEAD = 4  # batches that prefetching to a device may hold; what is compiled is charged to one of the last so many
_STEPS = 1000  # between which the usual step is the median
_MUCH, _LEAST_S = 2.0, 0.005


def watch_retraces() -> RetraceWatch:
    """Watch for compilations that new shapes cause, from `with` (or `start()`) on; see `RetraceWatch`.

        with penstock.train.watch_retraces() as retraces:
            model.fit(train.to_keras(), epochs=2)
        print(retraces)

    Every Penstock dataset is watched, whoever reads it: Keras' fit on each backend, or a loop of your own around a
    `tf.function`, `jax.jit` or `torch.compile`. Of another loader, loop over `retraces.over(loader)`.
    Cost: 3 us a step while it watches; 40 ns while nobody does (tests/unit/train/test_retraces.py bounds that).
    """
    return RetraceWatch()


class RetraceWatch:
    """What was seen so far, while it watches and afterwards. Of several loaders each has its own shapes."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.now = now
        self.compilations = 0
        self.compiling_s = 0.0
        self._lock = threading.RLock()
        self._loaders: list[_Loader] = []
        self._by_owner: weakref.WeakKeyDictionary[Any, _Loader] = weakref.WeakKeyDictionary()
        self._current: _Loader | None = None
        self._stops: list[Callable[[], None]] = []
        self._notes: list[str] = []

    def start(self) -> RetraceWatch:
        """From now on; a second time does nothing."""
        if not self._stops:
            DELIVERED.add(self._delivered)
            patcher = Patcher(
                {name: partial(self._listen, patch) for name, patch in compiling.patches(self).items()}, self._failed
            )
            self._stops = [patcher.uninstall, lambda: DELIVERED.remove(self._delivered)]
            patcher.install()
        return self

    def stop(self) -> None:
        """No longer; what was seen stays."""
        stops, self._stops = self._stops, []
        for stop in stops:
            stop()

    def __enter__(self) -> RetraceWatch:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def over(self, loader: Iterable[Any]) -> Iterator[Any]:
        """The batches of one pass over any loader, each looked at."""
        if source_of(loader) == "penstock":  # whose iterators tell of themselves
            return iter(loader)
        with self._lock:
            found = self._by_owner.get(loader) if _has_weak_references(loader) else None
            if found is None:
                found = self._open(f"{type(loader).__name__} at {user_location()}", loader)
        return self._looked_at(found, iter(loader))

    @property
    def retraces(self) -> tuple[Retrace, ...]:
        """New signatures after the first of each loader, in the order of loaders and steps.

        Of PyTorch none where nothing was compiled: there a new shape is free.
        """
        return tuple(one for loader in list(self._loaders) for one in self._retraces(loader))

    def trace(self) -> Trace:
        """The loader whose retraces cost the most, else that with the most of them, as the doctor takes it."""
        framework = trainer()
        worst = max(list(self._loaders), key=self._weight, default=None)
        if worst is None:
            return Trace(source="iterable", loader="nothing was read", host=this_host(), consumer=Consumer())
        told = worst.told or Trace(source=worst.source, loader=worst.label, host=this_host(), consumer=Consumer())
        seconds = max(worst.given_s - worst.began_s, 0.0)
        notes = ("shapes: from Penstock's own iterators; costs: from what the framework says of its compilations",)
        return Trace(
            source=told.source, loader=told.loader, host=told.host, nodes=told.nodes, framework=framework,
            consumer=Consumer(steps=worst.steps), seconds=seconds, retraces=self._retraces(worst),
            notes=(*notes, *self._notes),
        )  # fmt: skip

    def finding(self) -> Finding | None:
        """The doctor's finding of kind "retrace"; None where there were too few, and too cheap, to be one."""
        return next((one for one in diagnose(self.trace()).findings if one.kind == "retrace"), None)

    def __str__(self) -> str:
        found = self.retraces
        spent = (
            f"; {self.compilations} compilations took {format_seconds(self.compiling_s)}" if self.compilations else ""
        )
        if not found:
            return f"no retrace in {sum(one.steps for one in self._loaders)} steps{spent}"
        lines = [f"{len(found)} new shapes{spent}"]
        lines += [f"  step {one.step}: {one.leaf}: {one.before} -> {one.after}{_cost(one)}" for one in found[:10]]
        finding = self.finding()
        advice = finding.advice if finding is not None else ()
        return "\n".join([*lines, *(f"  to fix: {one}" for one in advice)])

    def compiled(self, seconds: float) -> None:
        """A framework says that it compiled: for the batch that was given last."""
        with self._lock:
            self.compilations += 1
            self.compiling_s += seconds
            if self._current is not None:
                self._current.shapes.compiled(seconds, self._current.steps - 1)

    def _listen(self, patch: Callable[[Any], Callable[[], None]], module: Any) -> None:
        self._stops.append(patch(module))

    def _failed(self, name: str, error: Exception) -> None:
        self._notes.append(f"{name} is not listened to: {' '.join(str(error).split())}")

    def _delivered(self, iterator: Any, element: Any, asked_s: float, given_s: float) -> None:
        if is_in_task():  # a dataset that a user's function reads, which is not what the trainer is given
            return
        owner = iterator._kept
        with self._lock:
            loader = self._by_owner.get(owner)
            if loader is None:
                loader = self._open("a Penstock dataset", owner, "penstock")
            if loader.given(element, asked_s, given_s):
                loader.told = iterator.trace()
            self._current = loader

    def _open(self, label: str, owner: Any, source: Source | None = None) -> _Loader:
        made = _Loader(label, source or source_of(owner))
        self._loaders.append(made)
        if _has_weak_references(owner):
            self._by_owner[owner] = made
        return made

    def _looked_at(self, loader: _Loader, iterator: Iterator[Any]) -> Iterator[Any]:
        while True:
            asked_s = self.now()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            with self._lock:
                loader.given(batch, asked_s, self.now())
                self._current = loader
            yield batch
            del batch

    def _weight(self, loader: _Loader) -> tuple[float, int]:
        found = self._retraces(loader)
        return sum(one.cost_s or 0.0 for one in found), len(found)

    def _retraces(self, loader: _Loader) -> tuple[Retrace, ...]:
        framework = trainer()
        if framework == "torch" and not self.compilations:
            return ()
        return loader.with_costs() if framework == "tensorflow" else tuple(loader.shapes.retraces)


class _Loader:
    """One loader: its shapes, its steps, and how long they took."""

    def __init__(self, label: str, source: Source) -> None:
        self.label = label
        self.source = source
        self.shapes = Shapes(ahead=_AHEAD)
        self.steps = 0
        self.began_s = self.given_s = 0.0
        self.told: Trace | None = None
        self._usual: list[float] = []
        self._long: dict[int, float] = {}
        self._is_new = False

    def given(self, batch: Any, asked_s: float, given_s: float) -> bool:
        """Note a batch; whether it is a retrace."""
        if self.steps:
            self._note_step(asked_s - self.given_s)
        else:
            self.began_s = given_s
        self.given_s = given_s
        shapes = self.shapes
        self._is_new = shapes.is_other(batch) and shapes.note(batch, self.steps)
        self.steps += 1
        return self._is_new and self.steps > 1

    def with_costs(self) -> tuple[Retrace, ...]:
        """Retraces with what the step took longer than usual, if that is much, and more than the framework told of."""
        usual = median(self._usual) if self._usual else 0.0
        told = []
        for one in self.shapes.retraces:
            step_s = self._long.get(one.step, 0.0)
            longer_s = step_s - usual if step_s > max(_MUCH * usual, _LEAST_S) else 0.0
            told.append(replace(one, cost_s=longer_s) if longer_s > (one.cost_s or 0.0) else one)
        return tuple(told)

    def _note_step(self, seconds: float) -> None:
        if self._is_new and self.steps > 1 and len(self._long) < _STEPS:
            self._long[self.steps - 1] = seconds
        elif not self._is_new and len(self._usual) < _STEPS:
            self._usual.append(seconds)


def _has_weak_references(value: Any) -> bool:
    try:
        hash(weakref.ref(value))
    except TypeError:
        return False
    return True


def _cost(one: Retrace) -> str:
    return "" if one.cost_s is None else f" ({format_seconds(one.cost_s)})"
