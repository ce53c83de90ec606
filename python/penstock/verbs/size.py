"""Verbs about how many elements there are, and those that need an end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Self

from penstock.errors import CardinalityError, PenstockError, UserFunctionError, user_location
from penstock.graph.node import INFINITE
from penstock.graph.nodes import AssertCardinality
from penstock.options import require_integer
from penstock.session import PipelineIterator
from penstock.verbs.base import Verbs, require_callable, require_end
from penstock.verbs.stateful import require_state


class SizeVerbs(Verbs):
    """Counted, folded, alone."""

    def iterator(self, epoch: int | None = None) -> PipelineIterator:
        raise NotImplementedError

    def assert_cardinality(self, expected_cardinality: int) -> Self:
        """The same elements, held to this number: what is not known (a generator, a filter) is from here on.

        INFINITE_CARDINALITY says that they never end. Raises, while iterating: CardinalityError with both numbers when
        they end before, or after as many when there are more.
        """
        where = user_location()
        name, count = "expected_cardinality", expected_cardinality
        number = require_integer("assert_cardinality", name, count, minimum=INFINITE, where=where)
        return self._of(AssertCardinality(inputs=(self._node,), location=where, count=number or 0))

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """What `reduce_func(state, element)` leaves of the elements of one epoch, from `initial_state` on.

        An element that is a tuple arrives as one argument, as in tf.data. The state keeps the structure and dtypes of
        `initial_state`. Cost: one call an element, in this thread, while the elements are computed ahead.
        Raises: UnknownLengthError: the dataset never ends; StructureError: a new state of another structure or dtype.
        """
        where = user_location()
        require_callable("reduce", "reduce_func", reduce_func, where)
        carried = require_state("reduce", initial_state, where)
        require_end("reduce", self._node, where)
        state, following = carried.first(), carried.next
        with self.iterator() as iterator:
            for number, element in enumerate(iterator):
                try:
                    new = reduce_func(state, element)
                except Exception as error:
                    raise UserFunctionError(
                        f"the function raised {type(error).__name__}: {error}",
                        where=f"reduce at {where}, element {number}",
                    ) from error
                try:
                    state = following(new)
                except PenstockError as error:
                    raise error.at(f"reduce at {where}, element {number}") from None
        return state

    def get_single_element(self) -> Any:
        """The only element. Raises: CardinalityError: there is none, or more than one."""
        where = user_location()
        with self.iterator() as iterator:
            elements = list(islice(iterator, 2))
        if len(elements) != 1:
            got = "more than one element" if elements else "no element"
            raise CardinalityError(f"get_single_element at {where}", got=got, expected="one element")
        return elements[0]
