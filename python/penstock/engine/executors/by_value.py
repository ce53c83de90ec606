"""Functions as values: nothing of the user's is imported where they are loaded.

Law: loaded in a fresh interpreter, a pure function computes what it computes here. What it reads travels with it as it
is now: functions and classes by value, of each module the attributes that are read. Imported anew, a module could hold
another value (`config.SIZE = 7`, set while running) or do anything else at its import; so a function that the user did
not ask to have sent goes this way.
"""

from __future__ import annotations

import io
import types
from typing import Any

import cloudpickle
from cloudpickle.cloudpickle import _dynamic_class_reduce

from penstock.trace.reads import Reads, is_known, is_users
from penstock.units import format_bytes

LARGEST_BYTES = 64 * 2**20


class TooLargeError(Exception):
    """What a function reads is too much to send to every worker."""


class _Limited(io.BytesIO):
    def write(self, text: Any) -> int:
        if self.tell() + memoryview(text).nbytes > LARGEST_BYTES:
            raise TooLargeError(f"it reads more than {format_bytes(LARGEST_BYTES)}")
        return super().write(text)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # untyped
    def __init__(self, file: io.BytesIO, reads: Reads) -> None:
        super().__init__(file, protocol=5)
        self._reads = reads

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.ModuleType) and not is_known(obj.__name__):
            read = self._reads.attributes.get(id(obj), ())
            held = {name: getattr(obj, name) for name in sorted(read) if hasattr(obj, name)}
            return types.ModuleType, (obj.__name__,), held
        if isinstance(obj, types.FunctionType) and is_users(obj.__module__):
            return self._dynamic_function_reduce(obj)
        if isinstance(obj, type) and is_users(obj.__module__):
            return _dynamic_class_reduce(obj)
        return super().reducer_override(obj)


def dumps_by_value(value: Any, reads: Reads) -> bytes:
    """Pickle `value`. Raises: TooLargeError, or whatever pickling it raises."""
    file = _Limited()
    _Pickler(file, reads).dump(value)
    return file.getvalue()
