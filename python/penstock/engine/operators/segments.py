"""What a segment node does to a block: one function, or a chain of them, some joined into one program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from penstock.block.block import Block
from penstock.block.origin import NOWHERE
from penstock.engine.operators.compiled import Compiled, record_compiled
from penstock.engine.operators.functions import FilterFunction, MapFunction, empty_block, once, row_by_row, unbatch
from penstock.engine.scope import Scope
from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Filter, Map, Unbatch
from penstock.ops.limits import image_limit
from penstock.rng import BlockStreams

BlockFunction = Callable[[Block, Scope], Block]


def block_function(node: Node) -> BlockFunction:
    """What a segment node does to one block."""
    if isinstance(node, Chain):
        return _chain(node)
    if isinstance(node, Map):
        return _limited(MapFunction(node))
    if isinstance(node, Filter):
        return _limited(FilterFunction(node))
    if isinstance(node, Unbatch):
        return lambda block, scope: unbatch(node, block)
    raise AssertionError(f"{node.verb} is no segment")


def _chain(node: Chain) -> BlockFunction:
    stops = dict(node.joined)
    steps: list[BlockFunction] = []
    place = 0
    while place < len(node.steps):
        stop = stops.get(place, place + 1)
        run = node.steps[place:stop]
        steps.append(_limited(JoinedMaps(run)) if len(run) > 1 else _measured(run[0], block_function(run[0])))
        place = stop

    def run_all(block: Block, scope: Scope) -> Block:
        for step in steps[:-1]:
            block = step(block, scope.aside())
        return steps[-1](block, scope)

    return run_all


def _measured(node: Node, function: BlockFunction) -> BlockFunction:
    return lambda block, scope: scope.task_log.tally.measure(node.key, node.label, lambda: function(block, scope))


def _limited(function: BlockFunction) -> BlockFunction:
    """`function` under the limits that its run sets for the ops it calls."""

    def run(block: Block, scope: Scope) -> Block:
        with image_limit(scope.services.max_image_pixels):
            return function(block, scope)

    return run


class JoinedMaps:
    """Adjacent maps as one program; one after another for what does not compile, or fails, that way.

    Law: what either way gives is the same wherever no function raises. Its time is told under the last map's key.
    """

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self._nodes = [node for node in nodes if isinstance(node, Map)]
        self._maps = [MapFunction(node) for node in self._nodes]
        self._apart = [_measured(node, function) for node, function in zip(self._nodes, self._maps, strict=True)]
        self._label = " + ".join(node.label for node in self._nodes)
        self._compiled: Compiled | None = None

    def __call__(self, block: Block, scope: Scope) -> Block:
        if not len(block):
            return self._one_by_one(block, scope)
        last = self._nodes[-1]
        if self._compiled is None:
            functions = [(node.function, node.takes_rng) for node in self._nodes]
            told = partial(record_compiled, scope.services.recorder, self._nodes)
            self._compiled = Compiled(functions, scope.services.warn, self._label, last.without, told)
        compiled = self._compiled

        def work() -> Block:
            keys = tuple(scope.key("map", node.number, node.seed) for node in self._nodes)
            streams = BlockStreams(keys, once(block.origins.ids))
            result = compiled.run(
                block, streams, lambda rows: self._eager(rows, scope.in_task()), scope.allocate, scope.task_log.tally
            )
            finished = None if result is None else self._maps[-1].finish(*result, block, scope)
            return _NOTHING if finished is None else finished

        done = scope.task_log.tally.measure(last.key, self._label, work)
        if done is not _NOTHING:
            return done
        if len(block) == 1 or not compiled.has_program(block):
            return self._one_by_one(block, scope)
        # Some row failed. Each alone, so that only what fails is left to Python, whatever else is in its block.
        together = row_by_row(self, block, scope)
        return self._one_by_one(block, scope) if together is None else together

    def _eager(self, block: Block, scope: Scope) -> Block:
        for function in self._maps:
            block = function.eager(block, scope)
        return block

    def _one_by_one(self, block: Block, scope: Scope) -> Block:
        for step in self._apart[:-1]:
            block = step(block, scope.aside())
        return self._apart[-1](block, scope)


_NOTHING = empty_block(NOWHERE)
