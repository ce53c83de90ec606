"""Running stages: what may start, what comes out, in order. No threads here: the scheduler calls, under one lock.

Each stage hands out tasks (`claim`) and takes their outcomes back (`commit`) by sequence number; outcomes wait until
all before them are in. `ready` holds finished blocks for the stage below. A stage holds back once enough waits there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from penstock.block.block import Block, Failure
from penstock.block.origin import NOWHERE
from penstock.engine.executors.placed import PlacedFunction
from penstock.engine.knobs import Window, first_setting
from penstock.engine.marks import START, History, Mark, Marked
from penstock.engine.nested.inside import in_task
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.batching import Assembly, batch_counts
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.indexed import BatchOperator, FunctionOperator
from penstock.engine.operators.positions import IndexedOperator
from penstock.engine.operators.sources import GeneratorSource, StreamSource, ended_early
from penstock.engine.scope import Scope, TaskLog
from penstock.engine.sizing import HANDED_OVER_SECONDS, TARGET_SECONDS, TaskSize, batches_or_part
from penstock.plan.stage import Stage
from penstock.storage.surroundings import reading_for
from penstock.telemetry.trace import Occupancy

_NONE = np.empty(0, dtype=np.int64)
_SHORT_SECONDS = 0.001
_REQUESTS = 512  # of a stage, waited for: twice what is in flight by default
_REQUESTS_AT_FIRST = 64  # until it is known how large the answers are


@dataclass(slots=True)
class Outcome:
    """What a task gave: blocks in order, its log, and what it cost.

    ended: the stage has nothing after this. number: of the verb whose elements these are.
    away_s: of its seconds, those in which the thread waited for requests that all rows had made together; waited_s: for
    any storage. queued_s: for a core; None: not asked.
    """

    blocks: list[Block]
    log: TaskLog
    rows: int = 0
    seconds: float = 0.0
    ended: bool = False
    nbytes: int = 0
    elements: int = 0
    number: int = -1
    away_s: float = 0.0
    waited_s: float = 0.0
    queued_s: float | None = None


@dataclass(slots=True)
class Task:
    """One piece of work of one stage; `run` needs no lock."""

    stage: RunningStage
    sequence: int
    run: Callable[[Scope], tuple[list[Block], bool]]
    scope: Scope
    rows: int
    mark: Mark  # of the first element it gives
    whole: Callable[[], Block] | None = None  # called when the task's turn comes, for what all tasks before it made

    def execute(self, away: Callable[[RunningStage, int], AbstractContextManager[None]] | None = None) -> Outcome:
        """Run it. Whatever is raised becomes the failure that follows its blocks.

        `away`: entered while it waits for so many requests to storage.
        """
        scope = self.scope.in_task()
        services = scope.services
        clock = services.clock
        away_s = waited_s = 0.0

        @contextmanager
        def waiting(requests: int, together: bool) -> Iterator[None]:
            nonlocal away_s, waited_s
            left = clock.now()
            with nullcontext() if away is None else away(self.stage, requests):
                yield
            spent_s = clock.now() - left
            waited_s += spent_s
            away_s += spent_s if together else 0.0

        asks = not self.stage.is_short()
        queued_s = clock.queued() if asks else 0.0
        began = clock.now()
        try:
            with in_task(), reading_for(services.remote, services.closing, waiting):
                blocks, ended = self.run(scope)
        except Exception as error:  # noqa: BLE001  # a fault of one task must reach the consumer in its turn
            blocks, ended = [empty_block(NOWHERE, Failure(error))], True
        seconds = clock.now() - began
        nbytes, elements = sum(block.nbytes for block in blocks), sum(map(len, blocks))
        number = self.stage.stage.node.number
        return Outcome(
            blocks, scope.task_log, self.rows, seconds, ended, nbytes, elements, number, away_s, waited_s,
            clock.queued() - queued_s if asks else None,
        )  # fmt: skip


@dataclass(slots=True)
class _Waiting:
    """A finished block with its mark, since when it waits, and its bytes."""

    marked: Marked
    since: float
    nbytes: int


@dataclass(slots=True)
class Away:
    """Tasks of a stage whose threads wait for storage, and how many requests these wait for."""

    tasks: int = 0
    requests: int = 0

    def add(self, tasks: int, requests: int) -> None:
        """So many more, or fewer."""
        self.tasks += tasks
        self.requests += requests


@dataclass(slots=True)
class StageCounts:
    """What a stage holds and costs.

    waiting_bytes, waiting_elements: held now. task_bytes, task_s: what one task puts out and takes, smoothed; negative
    before the first. window: since the tuner last looked.
    """

    waiting_bytes: int = 0
    waiting_elements: int = 0
    task_bytes: float = -1.0
    task_s: float = -1.0
    window: Window = field(default_factory=Window)

    def hold(self, nbytes: int, elements: int) -> None:
        self.waiting_bytes += nbytes
        self.waiting_elements += elements

    def count(self, outcome: Outcome) -> None:
        """A task has come back."""
        nbytes, seconds, window = outcome.nbytes, outcome.seconds, self.window
        self.task_bytes = nbytes if self.task_bytes < 0 else 0.7 * self.task_bytes + 0.3 * nbytes
        self.task_s = seconds if self.task_s < 0 else 0.7 * self.task_s + 0.3 * seconds
        window.tasks += 1
        window.rows += outcome.rows or outcome.elements
        window.seconds += seconds
        window.waited_s += outcome.waited_s
        for totals in outcome.log.tally.steps.values():
            window.cpu_s += totals.cpu_s


class RunningStage:
    """Base: sequence numbers, the order of commits, what waits."""

    def __init__(self, stage: Stage, scope: Scope, inputs: list[RunningStage], drop: int = 0) -> None:
        self.stage = stage
        self.scope = scope
        self.inputs = inputs
        self._drop = drop  # elements to come that were given before
        self.ready: deque[_Waiting] = deque()
        self.counts = StageCounts()
        self.record = scope.services.recorder.stage(id(stage))
        self._now = scope.services.clock.now
        self.running = 0
        self.away = Away()
        self.closed = False
        self._finished: dict[int, tuple[Task, Outcome]] = {}
        self._next_claim = 0
        self._next_commit = 0
        self._exhausted = False  # nothing more will be claimed
        self._failed = False  # nothing more will be put out
        self._size = TaskSize()
        self.setting = scope.services.settings.setdefault(stage.node.key, first_setting(stage))

    # -- what the scheduler asks ----------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Nothing runs, waits or will come."""
        return self._exhausted and not (self.running or self._finished or self.ready)

    @property
    def is_idle(self) -> bool:
        """Holds nothing and runs nothing: the head of the line, which the ledger always admits."""
        return not (self.running or self._finished or self.ready)

    def expected_bytes(self) -> float:
        """What its running tasks are expected to put out."""
        return self.running * max(self.counts.task_bytes, 0.0)

    def is_short(self) -> bool:
        """Whether its tasks are known to be so short that waiting for one costs as much as doing it."""
        return 0 <= self.counts.task_s < _SHORT_SECONDS

    def has_room(self) -> bool:
        """Whether little enough waits, delivered in order or not yet, to start another task."""
        most = 2 * self.setting.parallelism + self.setting.prefetch + self._more_tasks()
        if self.running + len(self._finished) >= most:
            return False
        if self.stage.ahead is not None:
            return self.counts.waiting_elements < self.stage.ahead
        return len(self.ready) < self.setting.prefetch

    def may_start(self) -> bool:
        workers = self.setting.parallelism + self._more_tasks()
        return not self._exhausted and self.running < workers and self.has_room()

    def _more_tasks(self) -> int:
        """Tasks beyond its workers: those that wait for storage need none, as long as not too much is asked for."""
        most = _REQUESTS_AT_FIRST if self.counts.task_bytes < 0 else _REQUESTS
        if self.stage.width.said or self.stage.width.serial or self.away.requests >= most:
            return 0
        return min(self.away.tasks, self.setting.read_ahead)

    @property
    def task_rows(self) -> int:
        """Rows of the next task."""
        most = self.setting.block_size
        return self._size.rows if most is None or self._size.fixed else min(self._size.rows, most)

    @property
    def size(self) -> TaskSize:
        """What was measured to be the best size of a task, whatever it may take."""
        return self._size

    @property
    def is_handed_over(self) -> bool:
        """Whether its functions run in worker processes now."""
        return False

    def wanted(self) -> list[RunningStage]:
        """The inputs whose output this stage waits for."""
        return self.inputs

    def pump(self) -> None:
        """Do what needs no task: notice that an input has ended."""

    def claim(self) -> Task | None:
        """The next task, if there is one to start now."""
        raise NotImplementedError

    def commit(self, task: Task, outcome: Outcome, check: Callable[[Outcome], None]) -> None:
        """Take an outcome back, and put out all whose turn has come; `check` sees each before it is put out."""
        self.running -= 1
        if self.closed:
            return
        self.counts.count(outcome)
        self.counts.hold(outcome.nbytes, outcome.elements)
        self.measured(outcome)
        self._finished[task.sequence] = task, outcome
        if not self.stage.ordered:
            self._put_out(task.sequence, check)
        while self._next_commit in self._finished:
            self._put_out(self._next_commit, check)
            self._next_commit += 1
        self._record(outcome)

    def _record(self, outcome: Outcome) -> None:
        record, counts = self.record, self.counts
        record.tasks += 1
        record.task_rows = outcome.rows
        if outcome.queued_s is not None:
            record.queued_s += outcome.queued_s
            record.asked_s += outcome.seconds
        blocks = len(self.ready) + len(self._finished)
        record.occupancy.add(
            Occupancy(at_s=self._now(), blocks=blocks, bytes=counts.waiting_bytes, running=self.running)
        )

    def measured(self, outcome: Outcome) -> None:
        """A task took so long and put out so much."""

    def _start_with(self, block_size: int | None) -> None:
        """The rows of its tasks: as said, else as an iterator before found best, else few."""
        if block_size is not None:
            self._size = TaskSize(block_size, fixed=True)
            return
        known = self.scope.services.sizes.get(self.stage.node.key)
        self._size = TaskSize() if known is None else known
        if known is not None and known.row_s is not None:
            self.counts.task_s = known.row_s * known.rows

    def _resize(self, outcome: Outcome, target_s: float) -> None:
        # On a busy machine a row would seem to take longer, and smaller tasks would make it so.
        seconds = max(0.0, outcome.seconds - outcome.away_s - (outcome.queued_s or 0.0))
        self._size = self._size.after(outcome.rows, seconds, outcome.nbytes, target_s, away=outcome.away_s > 0)
        if not self._size.fixed:
            self.scope.services.sizes[self.stage.node.key] = self._size

    def _put_out(self, sequence: int, check: Callable[[Outcome], None]) -> None:
        task, outcome = self._finished.pop(sequence)
        self.counts.hold(-outcome.nbytes, -outcome.elements)
        if not self._failed:
            self.put_out(outcome, check, task.mark, task.whole)

    def put_out(
        self,
        outcome: Outcome,
        check: Callable[[Outcome], None],
        mark: Mark,
        whole: Callable[[], Block] | None = None,
    ) -> None:
        """Put out what has its turn; `mark`: of its first element."""
        check(outcome)
        if whole is not None and not outcome.blocks:
            outcome.blocks = [whole()]
        for block in outcome.blocks:
            self._offer(Marked(block, mark))
            if self._failed:
                return
            mark = mark.after(len(block))
        self._exhausted = self._exhausted or outcome.ended

    def _offer(self, marked: Marked) -> None:
        """Put a block where the stage below finds it, less what was given before; nothing follows a failure."""
        if self._drop:
            given = min(self._drop, len(marked.block))
            self._drop -= given
            marked = marked.split(given)[1]
        block = marked.block
        if len(block) or block.failure is not None:
            self._wait(marked, self.ready.append)
        if block.failure is not None:
            self._exhausted = self._failed = True
            self.close_inputs()

    # -- what the stage below takes -------------------------------------------------------------------------------

    def take(self, rows: int | None = None) -> Marked:
        """The next finished block, or its first `rows` elements; the rest is taken next."""
        self.counts.window.took(len(self.ready))
        waiting = self.ready.popleft()
        self.record.wait_out_s += self._now() - waiting.since
        marked = waiting.marked
        self.counts.hold(-waiting.nbytes, -len(marked.block))
        if rows is None or len(marked.block) <= rows:
            return marked
        first, rest = marked.split(rows)
        self._wait(rest, self.ready.appendleft)
        return first

    def _wait(self, marked: Marked, put: Callable[[_Waiting], None]) -> None:
        waiting = _Waiting(marked, self._now(), marked.block.nbytes)
        put(waiting)
        self.counts.hold(waiting.nbytes, len(marked.block))

    def close(self) -> None:
        """Stop for good: drop what waits, end what is held."""
        self.closed = self._exhausted = True
        self.record.feed(self._now())
        self.ready.clear()
        self._finished.clear()
        self.counts.waiting_bytes = self.counts.waiting_elements = 0
        self.close_inputs()

    def close_inputs(self) -> None:
        for source in self.inputs:
            if not source.closed:
                source.close()

    def _task(
        self,
        run: Callable[[Scope], tuple[list[Block], bool]],
        rows: int,
        mark: Mark,
        whole: Callable[[], Block] | None = None,
    ) -> Task:
        task = Task(self, self._next_claim, run, self.scope, rows, mark, whole)
        self._next_claim += 1
        self.running += 1
        if self.inputs:
            self.record.feed(self._now())
        return task

    def _starved(self) -> None:
        """Note that it has no input, if a task could start."""
        if self.may_start():
            self.record.starve(self._now())


class IndexedRun(RunningStage):
    """Tasks are ranges of positions; under a batch, several batches or a part of one."""

    def __init__(
        self,
        stage: Stage,
        scope: Scope,
        operator: IndexedOperator,
        start: int,
        block_size: int | None,
        *,
        drop: int = 0,
    ) -> None:
        super().__init__(stage, scope, [], drop)
        self._operator = operator
        self._length = operator.length
        self._position = start
        self._row = 0  # of the batch at `_position`, when it is made in parts
        self._assembly: Assembly | None = None
        self._start_with(block_size)
        self._exhausted = 0 <= self._length <= start

    @property
    def is_handed_over(self) -> bool:
        return self._operator.is_handed_over()

    def measured(self, outcome: Outcome) -> None:
        self._resize(outcome, HANDED_OVER_SECONDS if self.is_handed_over else TARGET_SECONDS)

    def claim(self) -> Task | None:
        if not self.may_start():
            return None
        if isinstance(self._operator, BatchOperator):
            return self._claim_batches(self._operator)
        stop = self._stop(self._position + self.task_rows)
        return self._range_task(self._position, stop, stop - self._position)

    def _stop(self, stop: int) -> int:
        return stop if self._length < 0 else min(stop, self._length)

    def _range_task(self, first: int, stop: int, rows: int) -> Task:
        def run(scope: Scope) -> tuple[list[Block], bool]:
            return [self._operator.rows(np.arange(first, stop, dtype=np.int64), scope)], False

        return self._advance(self._task(run, rows, Mark(first)), stop)

    def _advance(self, task: Task, position: int) -> Task:
        self._position = position
        self._exhausted = 0 <= self._length <= position
        return task

    def _claim_batches(self, operator: BatchOperator) -> Task:
        size = operator.node.batch_size
        batches, part = batches_or_part(self.task_rows, size)
        source = operator.inputs[0]
        if self._row == 0 and (batches or source.lays_out_rows or not (self.stage.ordered and operator.is_plain)):
            stop = self._stop(self._position + max(batches, 1))
            return self._range_task(self._position, stop, (stop - self._position) * size)
        return self._claim_part(operator, part or size)

    def _claim_part(self, operator: BatchOperator, rows: int) -> Task:
        source, size = operator.inputs[0], operator.node.batch_size
        count = int(batch_counts(self._position, self._position + 1, source.length, size)[0])
        if self._assembly is None:
            self._assembly = Assembly(count, operator.node.label, self.scope.services.pool)
        assembly, start = self._assembly, self._row
        stop = min(start + rows, count)
        first = self._position * size
        is_function = isinstance(source, FunctionOperator)  # whose results are the rows of the batch

        def write(scope: Scope) -> _Part:
            scope = replace(scope, destination=partial(assembly.place, start) if is_function else None)
            block = source.rows(np.arange(first + start, first + stop, dtype=np.int64), scope)
            return _Part(assembly.write(start, block), int(stop == count), block.nbytes)

        def run(scope: Scope) -> tuple[list[Block], bool]:
            part = scope.task_log.tally.measure(operator.node.key, operator.node.label, lambda: write(scope))
            return ([empty_block(NOWHERE, part.failure)], True) if part.failure is not None else ([], False)

        # Parts commit in order: when the turn of the last one comes, all others have been written.
        mark = Mark(self._position)
        task = self._task(run, stop - start, mark, whole=assembly.batch if stop == count else None)
        if stop < count:
            self._row = stop
            return task
        self._row, self._assembly = 0, None
        return self._advance(task, self._position + 1)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows of a batch, as measured: the batch itself counts with its last part."""

    failure: Failure | None
    batches: int
    nbytes: int

    def __len__(self) -> int:
        return self.batches


class SegmentRun(RunningStage):
    """Each task takes the next rows of the input."""

    def __init__(
        self,
        stage: Stage,
        scope: Scope,
        source: RunningStage,
        block_size: int | None,
        start: Mark = START,
    ) -> None:
        super().__init__(stage, scope, [source], start.drop)
        self._function = PlacedFunction(stage.node)
        self._start_with(block_size)

    @property
    def is_handed_over(self) -> bool:
        return self._function.is_handed_over

    def measured(self, outcome: Outcome) -> None:
        self._resize(outcome, HANDED_OVER_SECONDS if self.is_handed_over else TARGET_SECONDS)

    def pump(self) -> None:
        if self.inputs[0].ended:
            self._exhausted = True
            self.record.feed(self._now())

    def claim(self) -> Task | None:
        source = self.inputs[0]
        if not source.ready:
            self._starved()
            return None
        if not self.may_start():
            return None
        marked = source.take(self.task_rows)
        block = marked.block

        def run(scope: Scope) -> tuple[list[Block], bool]:
            if not len(block):
                return [block], False
            node = self.stage.node
            return [scope.task_log.tally.measure(node.key, node.label, lambda: self._function(block, scope))], False

        return self._task(run, len(block), Mark(inputs=(marked.mark,)))


class SourceRun(RunningStage):
    """One task at a time asks the source for its next block."""

    def __init__(self, stage: Stage, scope: Scope, source: StreamSource, start: Mark = START) -> None:
        super().__init__(stage, scope, [])
        self._source = source
        self._given = (start.at or 0) + start.drop
        source.skip(self._given)

    def claim(self) -> Task | None:
        if not self.may_start() or self.running:
            return None

        def run(scope: Scope) -> tuple[list[Block], bool]:
            node = self.stage.node
            ended = False

            def produce() -> Block:
                nonlocal ended
                produced = self._source.produce(scope)
                ended = produced is None
                return empty_block(NOWHERE) if produced is None else produced

            return [scope.task_log.tally.measure(node.key, node.label, produce)], ended

        return self._task(run, 0, START)

    def put_out(
        self,
        outcome: Outcome,
        check: Callable[[Outcome], None],
        mark: Mark,
        whole: Callable[[], Block] | None = None,
    ) -> None:
        """Blocks are counted when their turn comes: what `hurry` hands over goes before the task it comes from."""
        mark = Mark(self._given)
        self._given += sum(map(len, outcome.blocks))
        super().put_out(outcome, check, mark, whole)

    def hurry(self) -> Outcome | None:
        """What a source that keeps its task waiting has yielded so far: the consumer starves, so it goes out now."""
        if not self.running or self.ready or not isinstance(self._source, GeneratorSource):
            return None
        scope = self.scope.in_task()
        block = self._source.drain(scope)
        return Outcome([block], scope.task_log) if len(block) else None

    def is_short(self) -> bool:
        return False  # a generator may block at any element

    def commit(self, task: Task, outcome: Outcome, check: Callable[[Outcome], None]) -> None:
        super().commit(task, outcome, check)
        if self.closed:
            self._source.close()

    def close(self) -> None:
        super().close()
        if not self.running:
            self._source.close()


class BarrierRun(RunningStage):
    """One task at a time feeds the barrier the next block of the input it wants."""

    def __init__(
        self, stage: Stage, scope: Scope, inputs: list[RunningStage], barrier: Barrier, start: Mark = START
    ) -> None:
        super().__init__(stage, scope, inputs, start.drop)
        self._barrier = barrier
        self._histories = [History(start.input(number)) for number in range(len(inputs))]
        self._anchor = Mark(start.at, start.inputs)  # the last moment the barrier could be told from
        self._since = 0  # elements it gave since then
        self._refill = [0] * len(inputs)  # elements to come that it is given again
        self._tells = barrier.carries
        if start.at is not None:
            carry, held = start.at
            barrier.restore(carry)
            self._refill = list(held)
        self._exhausted = self._wants() is None

    def _wants(self) -> int | None:
        return next((number for number, rows in enumerate(self._refill) if rows), self._barrier.wants)

    def wanted(self) -> list[RunningStage]:
        return [] if self._wants() is None else self.inputs

    def claim(self) -> Task | None:
        number = self._wants()
        if number is None or not self.may_start() or self.running:
            return None
        source, mark = self.inputs[number], self._anchor.after(self._since)
        if self._barrier.pending and not self._refill[number]:
            return self._task(self._more, 0, mark)
        if not source.ready and not source.ended:
            self.record.starve(self._now())
            return None
        if not source.ready:
            return self._task(self._finish(number), 0, mark)
        if self._refill[number]:
            return self._task(self._take_again(number, source.take(self._refill[number])), 0, mark)
        return self._task(self._push(number, source.take()), 0, mark)

    def _push(self, number: int, marked: Marked) -> Callable[[Scope], tuple[list[Block], bool]]:
        def run(scope: Scope) -> tuple[list[Block], bool]:
            block = marked.block
            good = Block(block.structure, block.columns, block.origins)
            blocks = self._measured(lambda: self._barrier.push(number, good, scope), scope)
            if self._tells:
                self._histories[number].push(marked.mark, len(marked.block))
            self._note(blocks)
            if block.failure is not None and self._barrier.wants is not None:
                failure = self._barrier.fail(number, block.failure)
                return (blocks, False) if failure is None else ([*blocks, empty_block(NOWHERE, failure)], True)
            return blocks, self._barrier.wants is None

        return run

    def _more(self, scope: Scope) -> tuple[list[Block], bool]:
        blocks = self._measured(lambda: self._barrier.more(scope), scope)
        self._note(blocks)
        return blocks, self._barrier.wants is None

    def _note(self, given: list[Block]) -> None:
        """Write down how far the barrier is, from now on if it can tell, else by what it gave since it could."""
        carry = self._barrier.carry() if self._tells else None
        if carry is None:
            self._since += sum(map(len, given))
            return
        held = self._barrier.held()
        inputs = [history.before_last(rows) for history, rows in zip(self._histories, held, strict=True)]
        self._anchor, self._since = Mark([carry, list(held)], tuple(inputs)), 0

    def _take_again(self, number: int, marked: Marked) -> Callable[[Scope], tuple[list[Block], bool]]:
        def run(scope: Scope) -> tuple[list[Block], bool]:
            block = marked.block
            self._refill[number] -= len(block)
            self._histories[number].push(marked.mark, len(block))
            self._barrier.refill(number, Block(block.structure, block.columns, block.origins), scope)
            return ([], False) if block.failure is None else ([empty_block(NOWHERE, block.failure)], True)

        return run

    def _finish(self, number: int) -> Callable[[Scope], tuple[list[Block], bool]]:
        def run(scope: Scope) -> tuple[list[Block], bool]:
            if self._refill[number]:
                raise ended_early(self.inputs[number].stage.node, self._refill[number])
            self._tells = self._barrier.carries_past_end
            blocks = self._measured(lambda: self._barrier.finish(number, scope), scope)
            self._note(blocks)
            return blocks, self._barrier.wants is None

        return run

    def _measured(self, work: Callable[[], list[Block]], scope: Scope) -> list[Block]:
        node = self.stage.node
        return scope.task_log.tally.measure(node.key, node.label, lambda: _Blocks(work())).blocks

    def commit(self, task: Task, outcome: Outcome, check: Callable[[Outcome], None]) -> None:
        super().commit(task, outcome, check)
        if self._exhausted:
            self.close_inputs()
        if self.closed or self._exhausted:
            self._barrier.close()

    def close(self) -> None:
        super().close()
        if not self.running:
            self._barrier.close()


@dataclass(slots=True)
class _Blocks:
    """Several blocks, measured as one output."""

    blocks: list[Block]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Opening:
    """How to build the next input of a chain, and what its blocks pass through.

    `ends_when_empty`: if it gives no element, nothing follows (an endless repeat of nothing ends).
    """

    build: Callable[[], RunningStage]
    through: Callable[[Block], Block]
    ends_when_empty: bool = False


def _pump_all(stage: RunningStage) -> None:
    """Pump a stage and what it draws from, sources first: an input just opened may open inputs of its own."""
    for source in stage.wanted():
        _pump_all(source)
    stage.pump()


class ChainRun(RunningStage):
    """One input after another, each built when the one before has ended. It hands blocks through and runs no task."""

    def __init__(self, stage: Stage, scope: Scope, openings: Iterator[Opening], start: Mark = START) -> None:
        super().__init__(stage, scope, [], start.drop)
        self._openings = openings
        self._current: Opening | None = None
        self._number = (start.at or 0) - 1  # of the input that is open
        self._resumes = start != START  # in the middle of an input that gave elements before
        self._gave = False

    def pump(self) -> None:
        """Move what the input has finished; open the next input where it has ended."""
        while not self._exhausted and self.has_room():
            if self._current is None or self.inputs[0].ended:
                self._open_next()
            elif self.inputs[0].ready:
                marked = self.inputs[0].take()
                self._gave = self._gave or len(marked.block) > 0
                mark = Mark(self._number, (marked.mark,))
                self._offer(Marked(self._current.through(marked.block), mark))
            else:
                return
            for source in self.inputs:
                _pump_all(source)

    def claim(self) -> Task | None:
        return None

    def _open_next(self) -> None:
        is_over = self._current is not None and self._current.ends_when_empty and not self._gave
        self._current = None if is_over else next(self._openings, None)
        self._number += 1
        self._gave, self._resumes = self._resumes, False
        self._exhausted = self._current is None
        self.inputs = [] if self._current is None else [self._current.build()]
