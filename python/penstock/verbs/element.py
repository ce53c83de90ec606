"""Verbs that work element by element: map, random_map, filter, ignore_errors, enumerate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

from penstock.errors import InvalidArgumentError, Location, user_location
from penstock.graph.ignore import ignoring
from penstock.graph.nodes import Enumerate, Filter, IgnoreErrors, Map, OnError
from penstock.options import AUTOTUNE, Retry, require_integer
from penstock.verbs.base import Verbs, require_callable, require_parallelism, require_signature


class ElementVerbs(Verbs):
    """One element in, one (or none) out."""

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = AUTOTUNE,
        deterministic: bool | None = None,
        *,
        output_signature: Any = None,
        executor: Literal["auto", "threads", "processes"] = "auto",
        on_error: OnError = "raise",
        compile: bool = True,  # noqa: A002  # the word of tf.data, JAX and PyTorch for it
    ) -> Self:
        """`map_func` of each element. A tuple element arrives as separate arguments, a dict as one.

        Any Python function. One made of Penstock's and NumPy's operations is compiled when its first block is seen, and
        runs on whole blocks (`compile=False` opts out; `@penstock.function` demands it). Known to be pure, it runs on
        as many workers as there are cores, threads first, processes if it is measured to hold the GIL; otherwise on
        one, in order, as tf.data would run it (`explain()` says which and why). An integer `num_parallel_calls`, or an
        `executor`, is your word that it may run in parallel: `executor="processes"` in worker processes, for functions
        that hold the GIL (docs/howto/python-functions.md: fresh interpreters, which import modules anew and never run
        the main script). Arrays it is given may be read-only.

        deterministic: False lets results arrive as they complete. output_signature: what it returns, else found by
        running the first element when asked for. on_error: "skip" drops elements for which it raises; they are
        counted and kept in `iterator.skipped`. A fault that may pass (a connection, a time limit) is never skipped:
        `penstock.Retry(times, backoff)` calls the function again first.
        Raises, while iterating: UserFunctionError with your own traceback, the element's origin and this line;
        StructureError when a later result has another structure, dtype or rank; with processes, UnsupportedValueError
        when the function cannot be pickled, WorkerError when an element ends its worker again and again.
        """
        return self._map(
            "map", map_func, num_parallel_calls=num_parallel_calls, deterministic=deterministic,
            output_signature=output_signature, executor=executor, on_error=on_error, compile=compile,
        )  # fmt: skip

    def random_map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = AUTOTUNE,
        deterministic: bool | None = None,
        *,
        seed: int | None = None,
        output_signature: Any = None,
        executor: Literal["auto", "threads", "processes"] = "auto",
        on_error: OnError = "raise",
        compile: bool = True,  # noqa: A002  # the word of tf.data, JAX and PyTorch for it
    ) -> Self:
        """`map_func(element, rng)`: as `map`, with a `penstock.Rng` of the element's own as the last argument.

        What it draws depends on the seed, the epoch and the element's origin, never on threads, order or timing. It
        compiles as a map does, draws included, where how often it draws does not depend on the element.
        """
        return self._map(
            "random_map", map_func, num_parallel_calls=num_parallel_calls, deterministic=deterministic,
            output_signature=output_signature, executor=executor, on_error=on_error, takes_rng=True, seed=seed,
            compile=compile,
        )  # fmt: skip

    def _map(
        self,
        verb: str,
        function: Callable[..., Any],
        *,
        num_parallel_calls: int | None,
        deterministic: bool | None,
        output_signature: Any,
        executor: Literal["auto", "threads", "processes"],
        on_error: OnError,
        compile: bool = True,  # noqa: A002  # likewise
        takes_rng: bool = False,
        seed: int | None = None,
    ) -> Self:
        where = user_location()
        require_callable(verb, "map_func", function, where)
        _require_choice(verb, "executor", executor, ("auto", "threads", "processes"), where)
        _require_on_error(verb, on_error, where)
        declared = None if output_signature is None else require_signature(verb, output_signature, where)
        node = Map(
            inputs=(self._node,),
            location=where,
            function=function,
            num_parallel_calls=require_parallelism(verb, num_parallel_calls, where),
            deterministic=deterministic,
            declared=declared,
            executor=executor,
            on_error=on_error,
            compiles=bool(compile),
            takes_rng=takes_rng,
            seed=require_integer(verb, "seed", seed, optional=True, where=where),
        )
        return self._of(node)

    def filter(self, predicate: Callable[..., Any], *, on_error: OnError = "raise") -> Self:
        """The elements for which `predicate` returns True (one bool). Cardinality is unknown from here on."""
        where = user_location()
        require_callable("filter", "predicate", predicate, where)
        _require_on_error("filter", on_error, where)
        return self._of(Filter(inputs=(self._node,), location=where, predicate=predicate, on_error=on_error))

    def ignore_errors(self, log_warning: bool = False) -> Self:
        """The elements below that could be computed: whatever a function or a source object raises drops its element.

        Every step below goes on with the next element, so batches below are refilled. What is dropped is counted and
        kept in `iterator.skipped`; `log_warning=True` warns of each. Not ignored: results of another structure or
        dtype, rows that cannot be stacked, and what a generator raises, as no generator can go on after that.
        """
        where = user_location()
        marked = ignoring(self._node, tells=bool(log_warning))
        return self._of(IgnoreErrors(inputs=(marked,), location=where))

    def enumerate(self, start: int = 0) -> Self:
        """(position, element), positions as int64 from `start`."""
        where = user_location()
        first = require_integer("enumerate", "start", start, where=where)
        return self._of(Enumerate(inputs=(self._node,), location=where, start=first or 0))


def _require_on_error(verb: str, value: Any, where: Location) -> None:
    if not isinstance(value, Retry) and value not in ("raise", "skip"):
        expected = "'raise' or 'skip' or penstock.Retry(...)"
        raise InvalidArgumentError(f"{verb}: on_error", got=repr(value), expected=expected, where=where)


def _require_choice(verb: str, name: str, value: Any, choices: tuple[str, ...], where: Location) -> None:
    if value not in choices:
        expected = " or ".join(repr(choice) for choice in choices)
        raise InvalidArgumentError(f"{verb}: {name}", got=repr(value), expected=expected, where=where)
