"""Verbs that say which elements come, in which order and how often."""

from __future__ import annotations

from typing import Self

from penstock.errors import InvalidArgumentError, user_location
from penstock.graph.node import INFINITE
from penstock.graph.nodes import Concatenate, Repeat, Shard, Shuffle, Skip, Take
from penstock.options import AUTOTUNE, require_integer
from penstock.verbs.base import Verbs, require_alike


class OrderVerbs(Verbs):
    """shuffle, repeat, take, skip, shard, concatenate."""

    def shuffle(
        self,
        buffer_size: int | None = None,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        *,
        start_early: bool = False,
    ) -> Self:
        """A random order, the same for the same seed and epoch; `explain()` says which of these it is.

        Over a finite input with random access the whole range is permuted, whatever `buffer_size`: a full shuffle that
        stores nothing and starts at once. Over an endless one, each window of `buffer_size` elements is permuted in its
        own way, at no more cost. Over a stream a buffer of `buffer_size` elements is kept, as in tf.data. None means
        all of it where the length is known, else 16384.

        `seed=None` derives from `Options.seed`; `reshuffle_each_iteration=False` gives every epoch one order.
        `start_early` has a buffer deliver before it is full: from a sixteenth of it on, one element for two that
        arrive; the first elements are then mixed less.
        """
        where = user_location()
        size = None if buffer_size == AUTOTUNE else buffer_size
        return self._of(
            Shuffle(
                inputs=(self._node,),
                location=where,
                buffer_size=require_integer("shuffle", "buffer_size", size, minimum=1, optional=True, where=where),
                seed=require_integer("shuffle", "seed", seed, optional=True, where=where),
                reshuffle_each_iteration=reshuffle_each_iteration is not False,
                start_early=bool(start_early),
            )
        )

    def repeat(self, count: int | None = None) -> Self:
        """The dataset `count` times over; None or -1 without end. Each pass shuffles and draws anew."""
        where = user_location()
        times = INFINITE if count is None else require_integer("repeat", "count", count, minimum=-1, where=where)
        return self._of(Repeat(inputs=(self._node,), location=where, count=INFINITE if times is None else times))

    def take(self, count: int) -> Self:
        """At most the first `count` elements; -1 for all."""
        where = user_location()
        number = require_integer("take", "count", count, minimum=-1, where=where)
        return self._of(Take(inputs=(self._node,), location=where, count=number or 0))

    def skip(self, count: int) -> Self:
        """All but the first `count` elements; -1 skips all."""
        where = user_location()
        number = require_integer("skip", "count", count, minimum=-1, where=where)
        return self._of(Skip(inputs=(self._node,), location=where, count=number or 0))

    def shard(self, num_shards: int, index: int) -> Self:
        """Elements index, index + num_shards, ...: every shard its own, together all of them."""
        where = user_location()
        shards = require_integer("shard", "num_shards", num_shards, minimum=1, where=where) or 1
        number = require_integer("shard", "index", index, minimum=0, where=where) or 0
        if number >= shards:
            raise InvalidArgumentError(
                "shard: index", got=number, expected=f"0 to {shards - 1}, below num_shards={shards}", where=where
            )
        return self._of(Shard(inputs=(self._node,), location=where, num_shards=shards, index=number))

    def concatenate(self, dataset: Verbs) -> Self:
        """This dataset, then the other.

        Raises: StructureError: their elements are known to differ in structure, dtype or rank (both specs are given).
        """
        where = user_location()
        if not isinstance(dataset, Verbs):
            raise InvalidArgumentError("concatenate", got=repr(dataset), expected="a dataset", where=where)
        first, second = self._node.signature(), dataset._node.signature()
        if first is not None and second is not None:
            require_alike("concatenate: datasets", first, second, where)
        return self._of(Concatenate(inputs=(self._node, dataset._node), location=where))
