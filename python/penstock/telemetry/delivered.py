"""Who hears of every element that a pipeline of this process hands to its consumer.

A trainer opens iterators anywhere: inside of Keras' fit, in a thread of tf.data, in a loop of its own. Who wants to
know of all of them (of new shapes, of steps) cannot be handed to each, so this is the one list of a process. While
nobody listens an element costs a look at an empty tuple, 40 ns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Listener = Callable[[Any, Any, float, float], None]
"""Called with the iterator, the element, when it was asked for and when it was there (`time.perf_counter`)."""


class Delivered:
    """Those who listen. They are called in the consumer's thread, in turn, and must not raise."""

    __slots__ = ("_lock", "listeners")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.listeners: tuple[Listener, ...] = ()

    def add(self, listener: Listener) -> None:
        """From the next element on."""
        with self._lock:
            self.listeners = (*self.listeners, listener)

    def remove(self, listener: Listener) -> None:
        """No longer; nothing where it was not there."""
        with self._lock:
            self.listeners = tuple(one for one in self.listeners if one != listener)

    def tell(self, iterator: Any, element: Any, asked_s: float, given_s: float) -> None:
        """`iterator` gives `element` to its consumer."""
        for listener in self.listeners:
            listener(iterator, element, asked_s, given_s)


DELIVERED = Delivered()
