"""Functions for drawn pipelines: each one object, which both sides call, or a pair of one for each side.

Python's operators mean the same over NumPy values and tensors, so most are written once. `one` gives an element as it
is: verbs call functions of tuples with their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Function:
    """What each side calls, and its name in a failure."""

    text: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]


def one(element: tuple[Any, ...]) -> Any:
    return element[0] if len(element) == 1 else element


def first(value: Any) -> Any:
    """The first leaf; of a dict that of the smallest key, as tf.data sorts them."""
    while isinstance(value, tuple | dict):
        value = value[min(value)] if isinstance(value, dict) else value[0]
    return value


class Functions:
    """All of them, for one TensorFlow: made once, so that each is one object for every pipeline."""

    def __init__(self, tf: ModuleType) -> None:
        self._tf = tf
        self.numeric = [
            self._same("x * 3 + 1", lambda x: x * 3 + 1),
            self._same("-x", lambda x: -x),
            self._same("x * x % 97", lambda x: x * x % 97),
            self._same("x // 4", lambda x: x // 4),
        ]
        self.to_other = [
            self._same("x / 2", lambda x: x / 2),
            self._same("x > 3", lambda x: x > 3),
            self._two("int32", np.int32, lambda x: tf.cast(x, tf.int32)),
            self._two("float32", np.float32, lambda x: tf.cast(x, tf.float32)),
            self._two("text", lambda x: str(x).encode(), tf.strings.as_string),
            self._two("x + arange(3)", lambda x: x + np.arange(3), lambda x: x + tf.range(3, dtype=tf.int64)),
            self._two(
                "ones((2, 0)) * x",
                lambda x: np.ones((2, 0), np.int64) * x,
                lambda x: tf.ones((2, 0), tf.int64) * x,
            ),
        ]
        self.row = self._two("arange(x % 5)", lambda x: np.arange(x % 5), lambda x: tf.range(tf.math.floormod(x, 5)))
        self.nesting = [
            self._same("(e, e)", lambda *e: (one(e), one(e))),
            self._same("{b: e, a: first}", lambda *e: {"b": one(e), "a": first(one(e))}),
            self._same("(first, {n: (e,)})", lambda *e: (first(one(e)), {"n": (one(e),)})),
        ]
        self.plain = [self._same("e", lambda *e: one(e)), self._same("first", lambda *e: first(one(e)))]
        self.digest = self._two("digest", lambda *e: self._our_digest(e), lambda *e: self._their_digest(e))
        self.filters = [
            self._same("x % 3 != 0", lambda x: x % 3 != 0),
            self._same("x > 2", lambda x: x > 2),
            self._same("x % 5 > 0", lambda x: x % 5 > 0),
            self._same("x > 99", lambda x: x > 99),
        ]
        self.filter_any = self._two(
            "digest % 3 > 0",
            lambda *e: self._our_digest(e) % 3 > 0,
            lambda *e: self._their_digest(e) % 3 > 0,
        )
        self.while_small = self._same("x % 8 < 6", lambda x: x % 8 < 6)
        self.sums = self._same("(s + x, s - x)", lambda s, x: (s + x, s - x))
        self.counts = self._same("(s + 1, (s, e))", lambda s, *e: (s + 1, (s, one(e))))
        self.length = self._two("len", len, lambda x: tf.shape(x)[0])
        self.keys = {
            count: self._two(
                f"digest % {count}",
                lambda *e, n=count: np.int64(self._our_digest(e) % n),
                lambda *e, n=count: self._their_digest(e) % n,
            )
            for count in (1, 2, 3)
        }

    def _same(self, text: str, function: Callable[..., Any]) -> Function:
        return self._two(text, function, function)

    def _two(self, text: str, ours: Callable[..., Any], theirs: Callable[..., Any]) -> Function:
        return Function(text, ours, self._tf.autograph.experimental.do_not_convert(theirs))

    def nested(self, text: str, function: Callable[[Any], Callable[..., Any]], ours: Any, theirs: Any) -> Function:
        """A function that makes datasets: `function` is given the Dataset class of each side."""
        return self._two(text, function(ours), function(theirs))

    def _our_digest(self, element: tuple[Any, ...]) -> Any:
        return sum((_number(leaf) for leaf in _leaves(element)), np.int64(0))

    def _their_digest(self, element: tuple[Any, ...]) -> Any:
        tf = self._tf
        total = tf.constant(0, tf.int64)
        for leaf in tf.nest.flatten(element):
            number = tf.strings.length(leaf) if leaf.dtype == tf.string else leaf
            total += tf.reduce_sum(tf.cast(number, tf.int64))
        return total


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = tuple(value.values())
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, tuple) else [value]


def _number(leaf: Any) -> Any:
    array = np.asarray(leaf)
    if array.dtype.kind in "OSU":
        return np.int64(sum(len(text) for text in np.asarray(leaf, dtype=object).ravel().tolist()))
    return array.astype(np.int64).sum()
