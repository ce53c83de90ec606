"""Verbs that keep elements, or say how the pipeline runs: cache, prefetch, with_options."""

from __future__ import annotations

from typing import Self

from penstock.engine.cache import CacheStore
from penstock.errors import InvalidArgumentError, user_location
from penstock.graph.nodes import Cache, Prefetch, WithOptions
from penstock.options import AUTOTUNE, Options, require_integer
from penstock.verbs.base import Verbs, require_end


class KeepingVerbs(Verbs):
    """What is kept, and ahead of time."""

    def cache(self) -> Self:
        """Keep what came out the first time, in memory, for as long as this dataset lives; its iterators share it.

        Put it before shuffle and random augmentation: what is below is frozen as it was in the first pass. Over its
        budget (`Options.cache_budget`) an index-driven input keeps what came first and says so once; a stream is then
        not kept at all. Raises: UnknownLengthError: the dataset never ends.
        """
        where = user_location()
        require_end("cache", self._node, where)
        return self._of(Cache(inputs=(self._node,), location=where, store=CacheStore()))

    def prefetch(self, buffer_size: int = AUTOTUNE) -> Self:
        """Have up to `buffer_size` elements ready before they are asked for; AUTOTUNE means two.

        At the end of a pipeline it says how far ahead to run; inside one it changes nothing: stages run ahead anyway.
        """
        where = user_location()
        size = require_integer("prefetch", "buffer_size", buffer_size, minimum=-1, where=where)
        return self._of(Prefetch(inputs=(self._node,), location=where, buffer_size=AUTOTUNE if size is None else size))

    def with_options(self, options: Options) -> Self:
        """The same elements, run under these options; fields said later win."""
        where = user_location()
        if not isinstance(options, Options):
            raise InvalidArgumentError("with_options", got=repr(options), expected="penstock.Options(...)", where=where)
        return self._of(WithOptions(inputs=(self._node,), location=where, options=options))
