"""A pure function that starts in threads, is measured there, and moves to worker processes if it holds the GIL.

Law: wherever a block runs, the same elements come in the same order with the same errors; so it may move at any block,
and back. It goes by value (`by_value.py`), so that nothing of the user's is imported anew. Whatever keeps it from
moving is a finding, and what fails there, other than the function itself, a warning; it then stays in threads.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

from penstock.block.block import Block
from penstock.engine.executors.evidence import (
    LEAST_ROW_S,
    Call,
    Evidence,
    Finding,
    Trial,
    Verdict,
    judge,
    judge_trial,
)
from penstock.engine.operators.segments import BlockFunction
from penstock.engine.scope import Scope, Services
from penstock.errors import WorkerError
from penstock.graph.node import Node
from penstock.graph.nodes import Chain
from penstock.trace.reads import is_portable

if TYPE_CHECKING:
    from penstock.engine.executors.remote import RemoteFunction


_NATIVE = "compiled into one native pass for each image, which does not hold the GIL"


class MeasuredFunction:
    """Runs blocks here, and in worker processes once that was measured to be faster. Safe from several threads."""

    def __init__(self, node: Node, here: BlockFunction, services: Services) -> None:
        self._node = node
        self._here = here
        self._services = services
        self._lock = threading.Lock()
        self._total = node.cardinality()
        self._done = 0
        known = services.findings.get(node.key)
        self._evidence = Evidence() if known is None or known.evidence is None else known.evidence
        self._before_s = self._evidence.cpu_s
        self._trial: Trial | None = Trial()
        self._local = 0  # calls that run here though it has moved: workers are still starting
        self._local_until_s = -math.inf
        self.remote: RemoteFunction | None = None  # while it runs there
        self._verdict = judge(self._evidence, self._left_s())
        if self._verdict.is_decided:
            self._follow(self._verdict)

    def __call__(self, block: Block, scope: Scope) -> Block:
        remote = self.remote
        if remote is not None:
            return self._there(remote, block, scope)
        if self._verdict.is_decided:
            return self._here(block, scope)
        return self._weigh(block, scope)

    def _weigh(self, block: Block, scope: Scope) -> Block:
        """Run it here and measure."""
        clock, crowd = self._services.clock, self._services.crowd
        was_held = clock.is_gil_held() if self._verdict.step == "look" and crowd.size else None
        is_candidate = self._evidence.row_cpu_s >= LEAST_ROW_S
        entry, queued_s, cpu_s = crowd.enter(clock.now), clock.queued() if is_candidate else None, clock.cpu()
        try:
            done = self._here(block, scope)
        finally:
            cpu_s = clock.cpu() - cpu_s
            queued_s = None if queued_s is None else clock.queued() - queued_s
            wall_s, beside = crowd.leave(entry, clock.now)
        call = Call(len(block), block.nbytes + done.nbytes, wall_s, cpu_s, beside, queued_s)
        with self._lock:
            self._done += len(block)
            self._evidence = self._evidence.with_call(call)
            if was_held is not None:
                self._evidence = self._evidence.with_look(was_held)
            if self._verdict.is_decided:
                return done
            judged = Verdict("threads", _NATIVE) if self._is_native() else judge(self._evidence, self._left_s())
            verdict = self._verdict = judged
        if verdict.is_decided:
            self._follow(verdict)
        return done

    def _is_native(self) -> bool:
        """Whether all of it is compiled, and its images go through one native pass: who holds the GIL is not it."""
        steps = self._node.steps if isinstance(self._node, Chain) else (self._node,)
        functions = self._services.recorder.functions
        records = [record for step in steps if (record := functions.get(step.key)) is not None]
        return len(records) == len(steps) and not any(r.why for r in records) and any(r.is_native for r in records)

    def _left_s(self) -> float | None:
        """CPU seconds of work to come: in this pass, and in iterators after this one as much as in those before it.

        None when not known, also when the function runs more than once in an iterator (a repeat).
        """
        if self._total < self._done:
            return None
        return (self._total - self._done) * self._evidence.row_cpu_s + self._before_s

    def _follow(self, verdict: Verdict) -> None:
        """Do what was decided; the one thread that saw it decided does."""
        if verdict.step != "processes":
            self._file(Finding("threads", verdict.why, self._evidence if verdict.step == "short" else None))
            return
        from penstock.engine.executors import remote  # pickling and processes: 30 ms to import

        try:
            text = remote.recipe_by_value(self._node)
        except Exception as error:  # noqa: BLE001  # whatever pickling a user's objects raises, threads will do
            self._stay(f"{verdict.why}; but it cannot be sent to a worker process: {error}")
            return
        made = remote.RemoteFunction(self._node, self._meanwhile, is_pure=True, text=text, answered=self._answered)
        try:
            made.start_workers(self._services.process_workers)
        except OSError as error:
            self._fail(error)
            return
        self._file(Finding("processes", verdict.why, self._evidence))
        self.remote = made

    def _there(self, remote: RemoteFunction, block: Block, scope: Scope) -> Block:
        if not is_portable(block.structure):
            self._stay(f"its elements are of a class that a worker process would import anew: {block.structure}")
            return self._here(block, scope)
        try:
            return remote(block, scope)
        except (WorkerError, OSError) as error:
            self._fail(error)
            return self._here(block, scope)

    def _meanwhile(self, block: Block, scope: Scope) -> Block:
        """Run it here, until a worker has started."""
        with self._lock:
            self._local += 1
        try:
            return self._here(block, scope)
        finally:
            with self._lock:
                self._local -= 1
                self._local_until_s = self._services.clock.now()

    def _answered(self, wall_s: float, cpu_s: float) -> None:
        """A worker process has run a block."""
        if self._trial is None:
            return
        began_s = self._services.clock.now() - wall_s
        with self._lock:
            if self._local or began_s < self._local_until_s:
                return  # beside a call that ran here it waited for the GIL, which it no longer will
            verdict = self._tried(wall_s, cpu_s)
        if verdict.step == "measure":
            return
        if verdict.step == "threads":
            self._stay(verdict.why)
        else:
            self._file(Finding("processes", f"{self._verdict.why}; {verdict.why}", self._evidence))

    def _tried(self, wall_s: float, cpu_s: float) -> Verdict:
        """What the trial says with this answer; it ends with its verdict."""
        if self._trial is None:
            return Verdict("measure")
        self._trial = self._trial.with_answer(wall_s, cpu_s)
        verdict = judge_trial(self._evidence, self._trial)
        if verdict.step != "measure":
            self._trial = None
        return verdict

    def _fail(self, error: Exception) -> None:
        self._services.warn(f"{self._node.label} stays in threads: worker processes failed. {error}")
        self._stay(f"worker processes failed: {error}")

    def _stay(self, why: str) -> None:
        self._verdict = Verdict("threads", why)
        self.remote = None
        self._file(Finding("threads", why))

    def _file(self, finding: Finding) -> None:
        file_finding(self._services, self._node, finding)


def file_finding(services: Services, node: Node, finding: Finding) -> None:
    """Note where the functions of `node` run now, for statistics and for the next iterator."""
    for step in (node, *(node.steps if isinstance(node, Chain) else ())):
        services.findings[step.key] = finding
