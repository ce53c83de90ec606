"""What is to be measured: an attribute of a script, or a folder of images as a pipeline."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.errors import InvalidArgumentError, NoFilesError, PenstockError, ReadError, UserFunctionError

EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".gif")


@dataclass(frozen=True, slots=True)
class Target:
    """A loader, and its name for a person. what: what an element of it is, where we made it."""

    name: str
    loader: Iterable[Any]
    what: str = ""


def target_of(text: str, batch_size: int, image_size: int) -> Target:
    """The loader that the command line names. Raises: PenstockError: nothing there, or nothing that can be iterated."""
    file, _, attribute = text.rpartition(":")
    if file.endswith(".py"):
        return Target(text, _attribute(Path(file), attribute))
    if text.endswith(".py"):
        return Target(text, _only_dataset(Path(text)))
    if not os.path.isdir(text):
        raise NoFilesError(
            "bench: no such file or folder", got=repr(text),
            expected="FILE.py:NAME of a dataset or of a function that returns one, or a folder of images",
        )  # fmt: skip
    return Target(
        text, _images(text, batch_size, image_size),
        f"images decoded, resized to {image_size}x{image_size}, in batches of {batch_size}",
    )  # fmt: skip


def _attribute(file: Path, name: str) -> Iterable[Any]:
    namespace = _run(file)
    value: Any = namespace
    for part in name.split("."):
        found = value.get(part, _MISSING) if value is namespace else getattr(value, part, _MISSING)
        if found is _MISSING:
            raise InvalidArgumentError(
                f"bench: no {name!r} in this script", where=str(file),
                expected=f"one of {', '.join(_loaders(namespace))}" if _loaders(namespace) else "a dataset in it",
            )  # fmt: skip
        value = found
    if callable(value) and not isinstance(value, ps.Dataset) and not hasattr(value, "__iter__"):
        value = _called(value, name, file)
    if not hasattr(value, "__iter__") or isinstance(value, str | bytes | dict):
        raise InvalidArgumentError(
            f"bench: {name!r} is no dataset", got=f"{type(value).__module__}.{type(value).__qualname__}",
            expected="a dataset, another loader that can be iterated, or a function that returns one", where=str(file),
        )  # fmt: skip
    return value  # type: ignore[no-any-return]  # it has __iter__


_MISSING = object()


def _only_dataset(file: Path) -> Iterable[Any]:
    """The one dataset of a script, where no name was given."""
    namespace = _run(file)
    found = _loaders(namespace)
    if len(found) != 1:
        raise InvalidArgumentError(
            "bench: which dataset of this script?", got=", ".join(found) or "none in it",
            expected=f"{file}:NAME", where=str(file),
        )  # fmt: skip
    return namespace[found[0]]  # type: ignore[no-any-return]  # a Dataset


def _loaders(namespace: dict[str, Any]) -> list[str]:
    return [name for name, value in namespace.items() if isinstance(value, ps.Dataset) and not name.startswith("_")]


def _called(function: Any, name: str, file: Path) -> Any:
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise InvalidArgumentError(
            f"bench: {name!r} cannot be called without arguments", got=str(error), where=str(file),
            remedy="name a function that takes none, or the dataset itself",
        ) from error  # fmt: skip
    except ValueError:  # of a builtin that does not say what it takes
        pass
    try:
        return function()
    except PenstockError:
        raise
    except Exception as error:
        raise _failed(f"bench: {name}() failed", error, file) from error


def _run(file: Path) -> dict[str, Any]:
    """The names of a script that was run, as `import` would: not as `__main__`, so what it guards by that stays out."""
    if not file.is_file():
        raise ReadError("bench: no such script", got=repr(str(file)), expected="a Python file")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except PenstockError:
        raise
    except SystemExit as error:
        raise UserFunctionError(
            "bench: the script ended itself while it was imported", got=f"exit status {error.code}", where=str(file),
            remedy='put what trains under if __name__ == "__main__":',
        ) from error  # fmt: skip
    except Exception as error:
        raise _failed("bench: the script failed while it was imported", error, file) from error
    return vars(module)


def _failed(what: str, error: Exception, file: Path) -> UserFunctionError:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else (lines[-1] if lines else None)
    where = str(file) if line is None else f"{file}:{line}"
    return UserFunctionError(what, got=f"{type(error).__name__}: {error}", where=where)


def _images(folder: str, batch_size: int, image_size: int) -> ps.Dataset:
    """What most image pipelines do, without what is random."""
    files = ps.Dataset.from_folder(folder, extensions=EXTENSIONS) if _has_folders(folder) else _flat(folder)

    def scaled(path: str, label: int) -> Any:
        return ps.image.resize(ps.io.decode_image(ps.io.read_file(path), channels=3), (image_size, image_size)), label

    return files.map(scaled).batch(batch_size)


def _has_folders(folder: str) -> bool:
    return any(entry.is_dir() and not entry.name.startswith(".") for entry in os.scandir(folder))


def _flat(folder: str) -> ps.Dataset:
    paths = sorted(entry.path for entry in os.scandir(folder) if entry.name.lower().endswith(EXTENSIONS))
    if not paths:
        raise NoFilesError("bench: no image in this folder", got=repr(folder), expected=", ".join(EXTENSIONS))
    return ps.Dataset.from_tensor_slices((paths, [0] * len(paths)))
