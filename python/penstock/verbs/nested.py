"""Verbs of nested datasets: flat_map, interleave, window, group_by_window, bucket_by_sequence_length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from penstock.block.padding import Dims, as_padded_shapes
from penstock.errors import InvalidArgumentError, PenstockError, user_location
from penstock.graph.node import Node
from penstock.graph.nodes import Bucket, FlatMap, GroupByWindow, Interleave, Window
from penstock.graph.nodes.grouping import is_promised
from penstock.options import AUTOTUNE, require_integer
from penstock.verbs.base import Verbs, require_callable, require_parallelism
from penstock.verbs.buckets import Buckets

DEFAULT_CYCLE_LENGTH = 16
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
            cycle_length=cycle or DEFAULT_CYCLE_LENGTH,
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

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, Any], Any],
        window_size: int | None = None,
        window_size_func: Callable[[Any], Any] | None = None,
    ) -> Self:
        """The elements of `reduce_func(key, dataset)`, for each `window_size` elements of one key, as they fill up.

        `key_func` gives an integer for each element. `window_size_func(key)`, instead of `window_size`, says how many
        for that key; it is called once for each. At the end the groups that are not full follow, by key.
        Raises, while iterating: as `flat_map`; StructureError: a key is no integer.
        """
        where = user_location()
        require_callable("group_by_window", "key_func", key_func, where)
        require_callable("group_by_window", "reduce_func", reduce_func, where)
        if (window_size is None) == (window_size_func is None):
            got = f"window_size={window_size!r}, window_size_func={window_size_func!r}"
            raise InvalidArgumentError("group_by_window", got=got, expected="one of the two", where=where)
        size: int | Callable[[Any], Any]
        if window_size_func is not None:
            require_callable("group_by_window", "window_size_func", window_size_func, where)
            size = window_size_func
        else:
            size = require_integer("group_by_window", "window_size", window_size, minimum=1, where=where) or 1
        return self._of(
            GroupByWindow(
                inputs=(self._node,), location=where, function=reduce_func, node_of=node_of, key_function=key_func,
                window_size=size, make_dataset=self._of,
            )
        )  # fmt: skip

    def bucket_by_sequence_length(  # noqa: PLR0917  # the arguments of tf.data
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
    ) -> Self:
        """Batches of elements of like length: less padding, and few shapes.

        An element of a length below `bucket_boundaries[0]` falls in bucket 0, below `[1]` in bucket 1, and so on; a
        batch of bucket b has `bucket_batch_sizes[b]` rows, of which there is one more than boundaries. It is padded as
        `padded_batch` does to its longest row, or with `pad_to_bucket_boundary` to one less than the boundary where a
        dimension is not known (where nothing is known: the first). `no_padding`: a plain `batch`.
        Raises, while iterating: UserFunctionError as `map`; InvalidArgumentError: with `pad_to_bucket_boundary`, an
        element that is as long as the last boundary, or longer.
        """
        where = user_location()
        require_callable("bucket_by_sequence_length", "element_length_func", element_length_func, where)
        try:
            shapes = None if padded_shapes is None else as_padded_shapes(padded_shapes)
        except PenstockError as error:
            raise error.at(f"bucket_by_sequence_length at {where}") from None
        buckets = Buckets.of(
            bucket_boundaries, bucket_batch_sizes, where,
            length_of=element_length_func,
            dims=_known_dims(self._node), padded_shapes=shapes, padding_values=padding_values,
            to_boundary=bool(pad_to_bucket_boundary), pads=not no_padding, drop_remainder=bool(drop_remainder),
        )  # fmt: skip
        grouped: dict[str, Any] = {
            "inputs": (self._node,), "location": where, "function": buckets.batch, "node_of": node_of,
            "key_function": buckets.key, "window_size": buckets.size, "make_dataset": self._of,
            "name": "bucket_by_sequence_length",
        }  # fmt: skip
        known = buckets.known_shapes()
        if known is None:
            return self._of(GroupByWindow(**grouped))
        node = Bucket(
            **grouped, length_function=element_length_func, boundaries=buckets.boundaries,
            batch_sizes=buckets.batch_sizes, shapes=known, padding_values=padding_values, pads=buckets.pads,
            drop_remainder=buckets.drop_remainder, limit=buckets.limit,
        )  # fmt: skip
        return self._of(node)


def _known_dims(node: Node) -> Any:
    """The shape of each leaf as `Dims`, nested as the elements are; None where they are not known beforehand."""
    signature = node.signature() if is_promised(node) else None
    if signature is None or any(spec.shape is None for spec in signature.specs):
        return None
    return signature.structure.unflatten([Dims(spec.shape or ()) for spec in signature.specs])


def node_of(result: Any) -> Node | None:
    """The node of a dataset that a user's function returned; None where it returned something else."""
    return result._node if isinstance(result, Verbs) else None
