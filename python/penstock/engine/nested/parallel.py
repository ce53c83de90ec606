"""A cycle whose children are read in parallel: each task has one child pull its next block.

What was pulled waits with its child until its turn; joining it is a task too, and its outcomes keep their order. So
slow files overlap, and the elements come as if they had been read one at a time. Children are read a block ahead, and
as many as there are workers are opened before there is a slot for them. Where order need not be kept, a block that was
pulled goes out as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.block.block import Block
from penstock.block.origin import NOWHERE
from penstock.engine.marks import START, History, Mark, Marked
from penstock.engine.nested.child import Child, Opener, Pulled
from penstock.engine.nested.cycle import Cut, Cycle, Need
from penstock.engine.nested.inline import BarrierOf
from penstock.engine.operators.functions import empty_block
from penstock.engine.scope import Scope
from penstock.engine.stages import Outcome, RunningStage, Task
from penstock.graph.nodes import Interleave
from penstock.plan.stage import Stage

_NOTHING = empty_block(NOWHERE)
_PULL = -1
_WAITING_BLOCKS = 1


class ParallelRun(RunningStage):
    """The running form of an interleave with `num_parallel_calls`."""

    def __init__(self, stage: Stage, scope: Scope, source: RunningStage, barrier_of: BarrierOf, start: Mark) -> None:
        super().__init__(stage, scope, [source], start.drop)
        node = stage.node
        assert isinstance(node, Interleave)
        self._opener = Opener(node, scope, barrier_of)
        self._cycle = Cycle(self._opener, node.cycle_length, node.block_length)
        self._pulls: dict[int, tuple[Child, list[Pulled]]] = {}  # by task
        self._input_failed: Block | None = None
        self._has_news = True  # since the last cut
        self._cut: Cut | None = None  # which a task will join
        self._history = History(start.input(0))
        self._carried: list[Any] | None = None if start.at is None else start.at  # of another run, taken up at first
        self._cut_mark = START  # of the first row of what a task will join

    def is_short(self) -> bool:
        return False  # a child may block at any element

    def may_start(self) -> bool:
        return not self._exhausted and self.running < self.setting.parallelism

    def pump(self) -> None:
        """Go on to what came: elements of the input, rows of children. Here an end is noticed."""
        if self._exhausted or self.closed:
            return
        if self._carried is not None and not self._carried[0]:
            self._take_up(0)
        self._take_elements()
        if self._carried is not None:
            return  # elements that are to be taken up are still to come
        if not self.stage.ordered:
            if not self._pulls and self._cycle.is_empty():
                self._end_of_input()
        elif self._cut is None and self._has_news and self.has_room_for_join():
            self._cut_next()

    def claim(self) -> Task | None:
        if self.closed or self._carried is not None:
            return None
        cut, self._cut = self._cut, None
        if cut is not None:
            return self._task(partial(_join, cut), 0, self._cut_mark)
        if not self.may_start():
            return None
        if self.stage.ordered:
            return self._claim_pull(self._open_ahead())
        return self._claim_pull(self._cycle.fill_slots()) if self.has_room() else None

    def has_room_for_join(self) -> bool:
        """Whether little enough waits to be taken, or to be joined."""
        if self.running - len(self._pulls) + len(self._finished) >= 2 * self.setting.parallelism:
            return False
        if self.stage.ahead is not None:
            return self.counts.waiting_elements < self.stage.ahead
        return len(self.ready) < self.setting.prefetch

    def _take_elements(self) -> None:
        """Go on to more elements of the input once those there were have children."""
        source = self.inputs[0]
        while self._lacks_elements() and source.ready and self._input_failed is None:
            marked = source.take(None if self._carried is None else max(1, self._carried[0]))
            block = marked.block
            self._history.push(marked.mark, len(block))
            self._cycle.push(block)
            self._has_news = True
            self._take_up(len(block))
            if block.failure is not None:
                self._input_failed = block
        if source.ended and not self._cycle.input_ended and self._input_failed is None:
            self._cycle.input_ended = self._has_news = True

    def _lacks_elements(self) -> bool:
        return self._carried is not None or not self._cycle.has_elements

    def _take_up(self, came: int) -> None:
        """Stand where the run stood whose mark this one began at, once its elements are there."""
        if self._carried is not None:
            self._carried = [self._carried[0] - came, *self._carried[1:]]
            if self._carried[0] <= 0:
                self._cycle.restore(self._carried)
                self._carried = None

    def _open_ahead(self) -> list[Child]:
        """The children that may be pulled from, those whose turn comes first before the others."""
        cycle = self._cycle
        while len(cycle.ahead) < cycle.free_slots() + self.setting.parallelism:
            child = cycle.next_child()
            if child is None:
                break
            cycle.ahead.append(child)
        return cycle.children()

    def _claim_pull(self, children: list[Child]) -> Task | None:
        for child in children:
            if not (child.busy or child.ended) and len(child.waiting) < _WAITING_BLOCKS:
                return self._pull(child)
        return None

    def _pull(self, child: Child) -> Task:
        pulled: list[Pulled] = []

        def run(scope: Scope) -> tuple[list[Block], bool]:
            node = self.stage.node

            def pull() -> Block:
                pulled.append(self._opener.pull(child, scope.task_log))
                return pulled[0].block or _NOTHING

            return [scope.task_log.tally.measure(node.key, node.label, pull)], False

        child.busy = True
        task = Task(self, _PULL, run, self.scope, 0, START)
        self._pulls[id(task)] = child, pulled
        self.running += 1
        return task

    def _cut_next(self) -> None:
        """Cut off what has its turn and was pulled: it is joined by a task."""
        carry = self._cycle.carry()
        self._cut_mark = Mark(carry, (self._history.before_last(carry[0]),))
        cut = self._cycle.cut(self.scope, None)
        self._has_news = cut.need is Need.NOTHING
        if cut.need is Need.ELEMENT and self._input_failed is not None and not self._cycle.has_elements:
            cut = Cut(cut.pieces, self._input_failed.failure, Need.END, cut.seen)
        self._exhausted = cut.need is Need.END
        if cut.pieces or cut.failure is not None:
            self._cut = cut

    def _end_of_input(self) -> None:
        """Neither a child nor an element is left: more come, or none will."""
        if self._input_failed is not None:
            self._offer(Marked(empty_block(NOWHERE, self._input_failed.failure), START))
        self._exhausted = self._exhausted or self._cycle.input_ended

    @property
    def ended(self) -> bool:
        return super().ended and self._cut is None

    def commit(self, task: Task, outcome: Outcome, check: Callable[[Outcome], None]) -> None:
        entry = self._pulls.pop(id(task), None)
        if entry is None:
            super().commit(task, outcome, check)
            if self._failed:
                self._cycle.close()
            return
        child, pulled = entry
        self.running -= 1
        child.busy = False
        if self.closed or self._failed:
            child.close()
            return
        self._has_news = True
        # An engine fault, told as the task tells it, if nothing was pulled.
        child.accept(pulled[0] if pulled else Pulled(None, ended=True, failure=outcome.blocks[0].failure))
        outcome.blocks, outcome.ended = [], False
        if not self.stage.ordered:
            outcome.blocks = self._taken(child)
        self.put_out(outcome, check, START)

    def _taken(self, child: Child) -> list[Block]:
        """All that was pulled from a child, as it goes out where order is not kept."""
        blocks = [block for block in (self._opener.checked(b, child) for b in list(child.waiting)) if block is not None]
        child.waiting.clear()
        if child.ended:
            if child.failure is not None:
                blocks.append(empty_block(NOWHERE, child.failure))
            self._cycle.leave(child)
        return blocks

    def close(self) -> None:
        super().close()
        self._cut = None
        self._cycle.close()


def _join(cut: Cut, scope: Scope) -> tuple[list[Block], bool]:
    block = cut.block(scope)
    return ([] if block is None else [block]), cut.need is Need.END
