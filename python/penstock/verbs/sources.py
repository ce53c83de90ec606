"""Sources: where elements come from. Nothing is read when a source is made, but the names of files."""

from __future__ import annotations

import builtins
import glob
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from penstock.block.block import preview
from penstock.block.collate import as_leaf, leaf_spec, source_column
from penstock.block.columns import ArrayColumn, BytesColumn, Column, RaggedColumn, column_of_array, object_array
from penstock.block.ragged import Ragged
from penstock.block.spec import STR, Spec
from penstock.block.tree import Structure, structure_of, tuple_of
from penstock.errors import (
    InvalidArgumentError,
    Location,
    NoFilesError,
    PenstockError,
    StructureError,
    UnsupportedValueError,
    user_location,
)
from penstock.graph.node import SignatureMemo
from penstock.graph.nodes import Counter, Generator, Indexed, Random, Range, Slices, Zip
from penstock.options import require_integer
from penstock.storage.objects import names_like
from penstock.storage.url import is_remote
from penstock.verbs.base import Verbs, require_signature, require_structure
from penstock.verbs.source import Source


def _signature_of(types: Any, shapes: Any, where: Location) -> Any:
    """Nested dtypes and shapes as one signature. Shapes that are None hold for all below."""
    if not isinstance(types, dict | tuple | list):
        is_known = shapes is not None and getattr(shapes, "rank", 0) is not None  # else a tf.TensorShape of any rank
        try:
            return Spec(tuple(shapes) if is_known else None, types)
        except (TypeError, PenstockError) as error:
            raise InvalidArgumentError(
                "from_generator: output_types and output_shapes", got=f"{types!r} of shape {shapes!r}",
                expected="a dtype and its shape", where=where,
            ) from error  # fmt: skip
    if isinstance(types, dict):
        keys, is_nested_alike = list(types), isinstance(shapes, dict) and set(shapes) == set(types)
    else:
        keys = list(range(len(types)))
        is_nested_alike = isinstance(shapes, tuple | list) and len(shapes) == len(types)
    if shapes is not None and not is_nested_alike:
        raise InvalidArgumentError(
            "from_generator: output_shapes", got=repr(shapes), expected=f"nested as output_types: {types!r}",
            where=where,
        )  # fmt: skip
    parts = {key: _signature_of(types[key], None if shapes is None else shapes[key], where) for key in keys}
    return parts if isinstance(types, dict) else tuple(parts.values())


class SourceVerbs(Verbs):
    """Constructors of datasets."""

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> Self:
        """The rows of arrays: element i is row i of every leaf.

        Shapes: leaves [n, ...], one n for all; a list is a stacked array. Numeric arrays are not copied.
        Raises: StructureError: leaves of different length. UnsupportedValueError: a leaf that has no rows.
        """
        where = user_location()
        structure = require_structure("from_tensor_slices", tensors, where)
        names = structure.names()
        columns: list[Column] = []
        for name, leaf in zip(names, structure.flatten(tensors), strict=True):
            try:
                columns.append(source_column(leaf))
            except PenstockError as error:
                raise error.at(f'from_tensor_slices at {where}, leaf "{name}"') from None
        lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
        if len(set(lengths.values())) != 1:
            raise StructureError(
                "leaves of different length", got=str(lengths), expected="one length for all",
                where=f"from_tensor_slices at {where}",
            )  # fmt: skip
        return cls._of(Slices(location=where, structure=structure, columns=tuple(columns)))

    @classmethod
    def from_tensors(cls, tensors: Any) -> Self:
        """One element: `tensors` itself."""
        where = user_location()
        structure = require_structure("from_tensors", tensors, where)
        columns: list[Column] = []
        for name, value in zip(structure.names(), structure.flatten(tensors), strict=True):
            try:
                leaf = as_leaf(value)
            except PenstockError as error:
                raise error.at(f'from_tensors at {where}, leaf "{name}"') from None
            spec = leaf_spec(leaf)
            if not spec.shape and spec.dtype.kind in "SU":
                columns.append(BytesColumn(object_array([leaf]), spec.dtype))
            elif isinstance(leaf, Ragged):
                columns.append(RaggedColumn([leaf]))
            elif not spec.shape:
                columns.append(ArrayColumn(np.array([leaf], dtype=spec.dtype)))
            else:
                columns.append(column_of_array(np.asarray(leaf)[None]))
        return cls._of(Slices(location=where, structure=structure, columns=tuple(columns), name="from_tensors"))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
    ) -> Self:
        """The elements of `generator(*args)`, a fresh one each pass, in one worker, in order.

        `output_signature`: `penstock.Spec(shape, dtype)` (or tf.TensorSpec), or a tuple or dict of them; an element
        that breaks it is an error with its number. `output_types`, `output_shapes`: the same as tf.data had it before,
        dtypes and shapes nested alike; without shapes any will do.
        Raises: InvalidArgumentError: `generator` is not callable, the signature is none, or said twice or not at all.
        """
        where = user_location()
        if (output_signature is None) == (output_types is None):
            raise InvalidArgumentError(
                "from_generator: output_signature", got="none" if output_types is None else "output_types as well",
                expected="penstock.Spec(shape, dtype), or a tuple or dict of them", where=where,
            )  # fmt: skip
        if output_signature is None:
            output_signature = _signature_of(output_types, output_shapes, where)
        if not callable(generator):
            raise InvalidArgumentError(
                "from_generator: generator", got=f"{type(generator).__name__}: {preview(generator)}",
                expected="a callable that returns a fresh iterator, so that each epoch can begin anew", where=where,
                remedy="pass the function, not its result" if hasattr(generator, "__next__") else None,
            )  # fmt: skip
        if not isinstance(args, Iterable | None):
            raise InvalidArgumentError("from_generator: args", got=repr(args), expected="a sequence", where=where)
        return cls._of(
            Generator(
                location=where,
                function=generator,
                args=tuple(args or ()),
                declared=require_signature("from_generator", output_signature, where),
            )
        )

    @classmethod
    def from_source(cls, source: Source[Any], *, num_parallel_calls: int = 1) -> Self:
        """Any object with `__len__` and `__getitem__`: see `penstock.Source`.

        PyTorch map-style datasets, Hugging Face datasets, Grain sources are such. Its methods are user code: one worker
        calls them unless `num_parallel_calls` says that several threads may.
        Raises: InvalidArgumentError: not such an object.
        """
        where = user_location()
        missing = [name for name in ("__len__", "__getitem__") if not hasattr(source, name)]
        if missing:
            raise InvalidArgumentError(
                "from_source", got=f"{type(source).__name__} without {' and '.join(missing)}",
                expected="an object with __len__ and __getitem__", where=where,
                remedy="use from_generator for what can only be iterated",
            )  # fmt: skip
        workers = require_integer("from_source", "num_parallel_calls", num_parallel_calls, minimum=1, where=where)
        node = Indexed(
            location=where, obj=source, count=len(source), num_parallel_calls=workers or 1, memo=SignatureMemo()
        )
        return cls._of(node)

    @classmethod
    def from_folder(cls, directory: str | os.PathLike[str], *, extensions: Sequence[str] | None = None) -> Self:
        """(path, label) of every file below the class folders of `directory`, in sorted order.

        Each folder directly inside is a class; its label (int64) is its place in `class_names`, which are sorted. Files
        are found recursively; hidden ones are left out, and all but `extensions` (".jpg", ...) where given.
        Raises: NoFilesError: no such folder, no class folder, or no file.
        """
        where = user_location()
        if not isinstance(directory, str | os.PathLike):
            raise InvalidArgumentError("from_folder: directory", got=repr(directory), expected="a path", where=where)
        root = os.fspath(directory)
        if is_remote(root):
            raise InvalidArgumentError(
                "from_folder: directory", got=repr(root), expected="a folder of this machine", where=where,
                remedy='list_files("s3://bucket/folder/**/*.jpg") lists objects; map the class from the name',
            )  # fmt: skip
        if not os.path.isdir(root):
            raise NoFilesError(
                "from_folder: no such folder", got=repr(root), expected="a folder of class folders", where=where
            )
        names = sorted(e.name for e in os.scandir(root) if e.is_dir() and not e.name.startswith("."))
        wanted = None if extensions is None else tuple(extension.lower() for extension in extensions)
        paths: list[str] = []
        labels: list[int] = []
        for label, name in enumerate(names):
            found = sorted(_files_below(os.path.join(root, name), wanted))
            paths += found
            labels += [label] * len(found)
        if not paths:
            got = f"{len(names)} class folders without a file" if names else "no class folder"
            expected = "folders of files" if wanted is None else f"folders of files ending in {', '.join(wanted)}"
            raise NoFilesError(f"from_folder: nothing in {root!r}", got=got, expected=expected, where=where)
        node = Slices(
            location=where,
            structure=tuple_of(Structure(), Structure()),
            columns=(BytesColumn(object_array(paths), STR), ArrayColumn(np.array(labels, dtype=np.int64))),
            name="from_folder",
            class_names=tuple(names),
        )
        return cls._of(node)

    @classmethod
    def list_files(
        cls, file_pattern: str | Sequence[str], shuffle: bool | None = None, seed: int | None = None
    ) -> Self:
        """The paths that match a glob pattern, or any of several; as in tf.data, shuffled unless `shuffle=False`.

        Sorted before, so the order depends on the names and the seed alone. `**` matches folders recursively. Patterns
        of URLs work where names can be listed: s3://, gs://, az:// (docs/howto/remote-data.md).
        Raises: NoFilesError: nothing matches; ReadError: the names cannot be listed.
        """
        where = user_location()
        patterns: Any = [file_pattern] if isinstance(file_pattern, str | os.PathLike) else file_pattern
        if not isinstance(patterns, Iterable) or not all(isinstance(p, str | os.PathLike) for p in patterns):
            got, expected = repr(file_pattern), "a glob pattern, or a list of them"
            raise InvalidArgumentError("list_files: file_pattern", got=got, expected=expected, where=where)
        paths: builtins.set[str] = set()
        for pattern in patterns:
            paths.update(_matching(os.fspath(pattern), where))
        if not paths:
            raise NoFilesError(
                "list_files: no file matches", got=repr(file_pattern), expected="at least one file", where=where,
                remedy=f"relative patterns start from {os.getcwd()}",
            )  # fmt: skip
        column = BytesColumn(object_array(sorted(paths)), STR)
        dataset = cls._of(Slices(location=where, structure=Structure(), columns=(column,), name="list_files"))
        if shuffle is False:
            return dataset
        shuffled: Self = dataset.shuffle(len(paths), seed=seed)  # type: ignore[attr-defined]  # OrderVerbs, joined in Dataset
        return shuffled

    @classmethod
    def range(cls, *args: int, output_type: Any = np.int64) -> Self:
        """Integers as Python's `range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
        where = user_location()
        if not 1 <= len(args) <= 3:
            raise InvalidArgumentError("range", got=f"{len(args)} arguments", expected="1 to 3", where=where)
        numbers = [require_integer("range", "arguments", arg, where=where) or 0 for arg in args]
        if len(numbers) == 3 and numbers[2] == 0:
            raise InvalidArgumentError("range: step", got=0, expected="another integer", where=where)
        span = builtins.range(*numbers)
        try:
            dtype = Spec((), output_type).dtype
        except PenstockError as error:
            raise error.at(f"range at {where}") from None
        node = Range(location=where, start=span.start, stop=span.stop, step=span.step, dtype=dtype)
        return cls._of(node)

    @classmethod
    def counter(cls, start: float = 0, step: float = 1, dtype: Any = np.int64) -> Self:
        """start, start + step, start + 2 * step, ... without end; integers wrap around as those of `dtype` do."""
        where = user_location()
        try:
            spec = Spec((), dtype)
        except PenstockError as error:
            raise error.at(f"counter at {where}") from None
        if spec.dtype.kind not in "iuf":
            raise InvalidArgumentError("counter: dtype", got=str(spec.dtype), expected="a number's", where=where)
        if spec.dtype.kind == "f":
            for name, value in (("start", start), ("step", step)):
                if not isinstance(value, int | float | np.integer | np.floating):
                    raise InvalidArgumentError(f"counter: {name}", got=repr(value), expected="a number", where=where)
            return cls._of(Counter(location=where, start=float(start), step=float(step), dtype=spec.dtype))
        first = require_integer("counter", "start", start, minimum=-(2**63), where=where) or 0
        by = require_integer("counter", "step", step, minimum=-(2**63), where=where) or 0
        if max(first, by) >= 2**63:
            raise InvalidArgumentError("counter", got=max(first, by), expected="integers below 2**63", where=where)
        return cls._of(Counter(location=where, start=first, step=by, dtype=spec.dtype))

    @classmethod
    def random(cls, seed: int | None = None, rerandomize_each_iteration: bool | None = None) -> Self:
        """Random integers (int64) in [0, 2**32) without end; element i is drawn from the seed and i alone.

        The same in each epoch, as in tf.data, unless `rerandomize_each_iteration`. The numbers are not tf.data's.
        `seed=None` derives from `Options.seed`.
        """
        where = user_location()
        number = None if seed is None else require_integer("random", "seed", seed, where=where)
        if not isinstance(rerandomize_each_iteration, bool | None):
            raise InvalidArgumentError(
                "random: rerandomize_each_iteration", got=repr(rerandomize_each_iteration), expected="a bool, or None",
                where=where,
            )  # fmt: skip
        return cls._of(Random(location=where, seed=number, rerandomize=bool(rerandomize_each_iteration)))

    @classmethod
    def zip(cls, *datasets: Any) -> Self:
        """One element of each dataset, nested as they are given: `zip(a, b)`, `zip((a, b))`, `zip({"x": a, "y": b})`.

        Ends with the shortest. Raises: InvalidArgumentError: a leaf is no dataset.
        """
        where = user_location()
        nested = datasets[0] if len(datasets) == 1 else datasets
        try:
            template = structure_of(nested, is_leaf=lambda value: isinstance(value, Verbs))
        except UnsupportedValueError as error:
            raise error.at(f"zip at {where}") from None
        leaves = template.flatten(nested)
        for name, leaf in builtins.zip(template.names(), leaves, strict=True):
            if not isinstance(leaf, Verbs):
                got = f"{type(leaf).__name__} at {name!r}"
                raise InvalidArgumentError(
                    "zip", got=got, expected="datasets, or tuples and dicts of them", where=where
                )
        return cls._of(Zip(location=where, inputs=tuple(leaf._node for leaf in leaves), template=template))


def _matching(pattern: str, where: Location) -> list[str]:
    """The paths or URLs that match."""
    if not is_remote(pattern):
        return glob.glob(pattern, recursive=True)
    try:
        return names_like(pattern)
    except PenstockError as error:
        raise error.at(f"list_files at {where}") from error.__cause__


def _files_below(directory: str, extensions: tuple[str, ...] | None) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(directory, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        visible = (name for name in files if not name.startswith("."))
        found += [os.path.join(folder, n) for n in visible if extensions is None or n.lower().endswith(extensions)]
    return found
