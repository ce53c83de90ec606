"""What makes a pipeline portable: to_bytes and from_bytes; export and load for its functions alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import InvalidArgumentError, user_location
from penstock.verbs.base import Verbs, require_callable
from penstock.verbs.nested import node_of

if TYPE_CHECKING:
    from penstock.session.saved.preprocessing import Preprocessing

# What writes and reads archives knows every node and format: it is imported by the first pipeline that is saved.


class SavingVerbs(Verbs):
    """Pipelines as bytes."""

    def to_bytes(self) -> bytes:
        """The pipeline as bytes, for another process or another day: its verbs, seeds and arrays in memory.

        Functions that compile are saved as programs, which are data; the others as code (cloudpickle). To compile them
        the first element is computed. Files are named, not copied. What a `cache` keeps is not saved.
        Raises: UnsupportedValueError: a function that neither compiles nor can be pickled.
        """
        from penstock.session.saved.graphs import graph_to_bytes

        return graph_to_bytes(self._node, self._known())

    @classmethod
    def from_bytes(cls, data: bytes, allow_code: bool = False) -> Self:
        """The pipeline that `to_bytes` wrote: the same elements in the same order, and states fit both.

        allow_code: run code that the bytes bring along. Without it nothing in them is executed, and a pipeline that
        holds functions saved as code is refused, naming them.
        Raises: InvalidArgumentError: no saved pipeline, one of another version, or code that is not allowed.
        """
        from penstock.session.saved.graphs import graph_from_bytes

        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidArgumentError("from_bytes: data", got=type(data).__name__, expected="bytes")
        return cls._of(graph_from_bytes(bytes(data), cls._known(), allow_code))

    @classmethod
    def _known(cls) -> dict[str, Callable[..., Any]]:
        return {"node_of": node_of, "make_dataset": cls._of}


def export(dataset_or_function: Verbs | Callable[..., Any], path: str | Path, *, example: Any = None) -> None:
    """Freeze the maps of a dataset, or one function, into a file that `load` reads: programs, no code.

    The same ops on the same bytes give in serving what they gave in training, without the script that trained.
    example: what a function takes, as one element; a dataset computes its own first one.
    Raises: NotCompiledError: a function that does not compile, draws at random, or takes batches; InvalidArgumentError.
    """
    from penstock.session.saved.preprocessing import export_to

    where = user_location()
    if isinstance(dataset_or_function, Verbs):
        export_to(dataset_or_function._node, None, path)
        return
    require_callable("export", "dataset_or_function", dataset_or_function, where)
    if example is None:
        raise InvalidArgumentError("export: example", got="None", expected="an element to compile for", where=where)
    export_to(dataset_or_function, example, path)


def load(path: str | Path) -> Preprocessing:
    """What `export` wrote: a function of one example, with `.batch` for several. Runs no code of the file's maker.

    Raises: ReadError: the file cannot be read; InvalidArgumentError: it is no exported preprocessing.
    """
    from penstock.session.saved.preprocessing import load_from

    return load_from(path)
