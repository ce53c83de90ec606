"""Verbs that go over the elements in order and keep something in mind: scan, take_while, unique, rejection_resample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from penstock.block.state import CarriedState
from penstock.errors import InvalidArgumentError, Location, PenstockError, user_location
from penstock.graph.nodes import Resample, Scan, TakeWhile, Unique
from penstock.options import require_integer
from penstock.verbs.base import Verbs, require_callable

_SUM_TOLERANCE = 1e-3


class StatefulVerbs(Verbs):
    """One after another."""

    def scan(self, initial_state: Any, scan_func: Callable[[Any, Any], tuple[Any, Any]]) -> Self:
        """The outputs of `scan_func(state, element) -> (new_state, output)`, from `initial_state` on.

        An element that is a tuple arrives as one argument, as in tf.data. The state keeps the structure and the dtypes
        of `initial_state`. The function may change the state it is given. Cost: one call an element, in order.
        Raises, while iterating: StructureError: a new state of another structure or dtype; UserFunctionError.
        """
        where = user_location()
        require_callable("scan", "scan_func", scan_func, where)
        require_state("scan", initial_state, where)
        return self._of(Scan(inputs=(self._node,), location=where, initial_state=initial_state, function=scan_func))

    def take_while(self, predicate: Callable[..., Any]) -> Self:
        """The elements before the first for which `predicate` returns False (one bool); then the input is closed."""
        where = user_location()
        require_callable("take_while", "predicate", predicate, where)
        return self._of(TakeWhile(inputs=(self._node,), location=where, predicate=predicate))

    def unique(self) -> Self:
        """Each distinct element once, where it comes first.

        tf.data compares int32, int64 and string; here any element may be compared, by structure and value of all
        leaves (NaN equals NaN). Cost: the memory of a key for every distinct element: numbers and text themselves, the
        bytes of arrays.
        """
        return self._of(Unique(inputs=(self._node,), location=user_location()))

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Sequence[float],
        initial_dist: Sequence[float] | None = None,
        seed: int | None = None,
    ) -> Self:
        """(class, element) with elements dropped at random, so that the classes come in the proportions `target_dist`.

        class_func: the class of an element, an integer from 0 to `len(target_dist) - 1`. initial_dist: the proportions
        in the input; None: as counted so far, with a prior of ten elements spread evenly. Whether an element is kept
        depends on the seed, the epoch and its own identity, so the numbers are not tf.data's; the distribution is.
        Raises: InvalidArgumentError: proportions that are negative, do not sum to 1, or want what never comes.
        """
        where = user_location()
        require_callable("rejection_resample", "class_func", class_func, where)
        target = _distribution("target_dist", target_dist, where)
        initial = None if initial_dist is None else _distribution("initial_dist", initial_dist, where)
        if initial is not None and len(initial) != len(target):
            raise InvalidArgumentError(
                "rejection_resample: initial_dist", got=f"{len(initial)} classes",
                expected=f"{len(target)}, as target_dist has", where=where,
            )  # fmt: skip
        never = [k for k, wanted in enumerate(target) if wanted > 0 and initial is not None and initial[k] == 0]
        if never:
            raise InvalidArgumentError(
                "rejection_resample: target_dist", got=f"{target[never[0]]:g} of class {never[0]}",
                expected="0 of a class that initial_dist says never comes", where=where,
            )  # fmt: skip
        node = Resample(
            inputs=(self._node,),
            location=where,
            function=class_func,
            target=target,
            initial=initial,
            seed=require_integer("rejection_resample", "seed", seed, optional=True, where=where),
        )
        return self._of(node)


def require_state(verb: str, initial_state: Any, where: Location) -> CarriedState:
    """What a state looks like. Raises: UnsupportedValueError naming the verb and its line."""
    try:
        return CarriedState(initial_state)
    except PenstockError as error:
        raise error.at(f"{verb} at {where}, initial_state") from None


def _distribution(name: str, values: Any, where: Location) -> tuple[float, ...]:
    """Proportions that sum to 1."""
    what, expected = f"rejection_resample: {name}", "numbers of which none is negative and all sum to 1"
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError(what, got=repr(values), expected=expected, where=where) from None
    legal = array.ndim == 1 and len(array) and bool(np.isfinite(array).all()) and not (array < 0).any()
    if not legal or abs(array.sum() - 1) > _SUM_TOLERANCE:
        got = f"{array.tolist()}, which sum to {array.sum():g}" if legal else repr(values)
        raise InvalidArgumentError(what, got=got, expected=expected, where=where)
    return tuple((array / array.sum()).tolist())
