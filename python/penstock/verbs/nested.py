"""Verbs of nested datasets: flat_map, interleave, window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from penstock.block.block import preview
from penstock.errors import StructureError, user_location
from penstock.graph.node import Node
from penstock.graph.nodes import FlatMap, Interleave, Window
from penstock.options import AUTOTUNE, require_integer
from penstock.verbs.base import Verbs, require_callable, require_parallelism

_CYCLE_LENGTH = 16
"""Datasets that `interleave(cycle_length=None)` takes turns of: a fixed number, as order must not hang on a machine."""


class NestedVerbs(Verbs):
    """A dataset for each element, and elements that are datasets."""

    def flat_map(self, map_func: Callable[..., Any]) -> Self:
        """The elements of the datasets that `map_func` returns, one dataset after another.

        `map_func` is called with an element, as `map` calls its function, in order, one at a time, when the dataset
        before is at its end. The datasets run inline: a million of them take no thread, and no more memory than one.
        Raises, while iterating: UserFunctionError as `map`; StructureError: what it returned is no dataset, or one
        with elements of another structure, dtype or rank than those before.
        """
        where = user_location()
        require_callable("flat_map", "map_func", map_func, where)
        return self._of(FlatMap(inputs=(self._node,), location=where, function=map_func, node_of=node_of))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
    ) -> Self:
        """The elements of the datasets that `map_func` returns: `cycle_length` in turns, `block_length` of each.

        The order is tf.data's. A dataset at its end gives up its place, which the next one takes at its next turn.
        cycle_length: None or AUTOTUNE is 16. block_length: None is 1. num_parallel_calls: that many datasets are read
        at a time, in threads; it is your word that they may be. None: one at a time, in order. deterministic: False
        lets elements arrive as they are read.
        Raises, while iterating: as `flat_map`.
        """
        where = user_location()
        require_callable("interleave", "map_func", map_func, where)
        length = None if cycle_length == AUTOTUNE else cycle_length
        cycle = require_integer("interleave", "cycle_length", length, minimum=1, optional=True, where=where)
        node = Interleave(
            inputs=(self._node,),
            location=where,
            function=map_func,
            node_of=node_of,
            cycle_length=cycle or _CYCLE_LENGTH,
            block_length=require_integer(
                "interleave", "block_length", block_length, minimum=1, optional=True, where=where
            )
            or 1,
            num_parallel_calls=require_parallelism("interleave", num_parallel_calls, where),
            deterministic=deterministic,
        )
        return self._of(node)

    def window(self, size: int, shift: int | None = None, stride: int = 1, drop_remainder: bool = False) -> Self:
        """Datasets of `size` elements: one starts every `shift` elements (None: `size`), and takes each `stride`-th.

        An element that is a tuple or dict becomes a tuple or dict of datasets, one for each leaf. The last windows may
        be short; `drop_remainder=True` leaves them out. A window is a view of rows that are kept: it can be iterated
        at any time, more than once, and in a function. Most often `flat_map(lambda w: w.batch(size))` follows.
        """
        where = user_location()
        elements = require_integer("window", "size", size, minimum=1, where=where) or 1
        node = Window(
            inputs=(self._node,),
            location=where,
            size=elements,
            shift=require_integer("window", "shift", shift, minimum=1, optional=True, where=where) or elements,
            stride=require_integer("window", "stride", stride, minimum=1, where=where) or 1,
            drop_remainder=bool(drop_remainder),
            make_dataset=self._of,
        )
        return self._of(node)


def node_of(result: Any, where: str) -> Node:
    """The node of a dataset that a user's function returned. Raises: StructureError: it returned something else."""
    if isinstance(result, Verbs):
        return result._node
    raise StructureError(
        "the function returned no dataset", got=f"{type(result).__name__}: {preview(result)}",
        expected="a Dataset", where=where,
        remedy="return Dataset.from_tensors(value) for one element, or use map",
    )  # fmt: skip
