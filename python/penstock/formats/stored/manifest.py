"""The manifest of an entry: what is in it, as JSON. Read with suspicion: it may be cut short, or newer than we are."""

from __future__ import annotations

import json
import sys
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  # makes bfloat16 a name that NumPy knows
import numpy as np

from penstock.block.spec import RaggedSpec, Spec
from penstock.block.tree import Structure
from penstock.errors import DecodeError, PenstockError, ReadError, UnsupportedValueError

FORMAT = "penstock.stored"
VERSION = 1
NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an entry says of itself.

    leaves: for each leaf the spec, and the files as its writer told them. key, told: of what content it is, see
    session/kept. sizes, sums: bytes and CRC-32 of each file. owner: which of several caches in a directory it is.
    """

    count: int
    structure: Structure
    specs: tuple[Spec, ...]
    leaves: tuple[dict[str, Any], ...]
    sizes: dict[str, int]
    sums: dict[str, int]
    has_ids: bool
    key: str = ""
    owner: str = ""
    told: Any = None

    def to_json(self) -> str:
        leaves = (
            [
                {"name": name, **_spec(spec), **leaf}
                for name, spec, leaf in zip(self.structure.names(), self.specs, self.leaves, strict=True)
            ]
            if self.leaves
            else []
        )
        document = {
            "format": FORMAT, "version": VERSION, "count": self.count,
            "structure": _structure(self.structure) if self.leaves else None, "leaves": leaves, "ids": self.has_ids,
            "sizes": self.sizes, "crc32": self.sums, "key": self.key, "owner": self.owner, "content": self.told,
        }  # fmt: skip
        return json.dumps(document, indent=1)


def read_manifest(folder: Path) -> Manifest:
    """Raises: ReadError: there is none; DecodeError: it is none of ours, of a newer version, or broken."""
    path = folder / NAME
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise ReadError("cannot read the manifest", got=error.strerror or str(error), where=str(path)) from error
    except ValueError as error:
        raise DecodeError("a broken manifest", got=str(error), where=str(path)) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DecodeError("not a manifest of kept elements", where=str(path))
    version = document.get("version")
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        raise DecodeError(
            "kept in another version of the format", got=repr(version), expected=repr(VERSION), where=str(path),
            remedy="read it with the Penstock that wrote it, or a later one" if newer else None,
        )  # fmt: skip
    try:
        return _manifest(document)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, PenstockError) as error:
        raise DecodeError("a broken manifest", got=f"{type(error).__name__}: {error}", where=str(path)) from error


def _manifest(document: dict[str, Any]) -> Manifest:
    leaves = document["leaves"]
    structure = Structure() if document["structure"] is None else _structure_from(document["structure"])
    count = document["count"]
    if not isinstance(count, int) or count < 0 or (leaves and len(leaves) != structure.leaf_count):
        raise ValueError(f"{count} elements of {len(leaves)} leaves")
    if count and not leaves:
        raise ValueError("elements without leaves")
    return Manifest(
        count, structure, tuple(map(_spec_from, leaves)), tuple(leaves),
        {str(name): int(size) for name, size in document["sizes"].items()},
        {str(name): int(crc) for name, crc in document["crc32"].items()},
        bool(document["ids"]), str(document["key"]), str(document["owner"]), document["content"],
    )  # fmt: skip


def _spec(spec: Spec) -> dict[str, Any]:
    shape = None if spec.shape is None else [None if size is None else int(size) for size in spec.shape]
    return {"dtype": name_of(spec.dtype), "shape": shape, "ragged_rank": spec.ragged_rank}


def _spec_from(said: dict[str, Any]) -> Spec:
    shape, dtype, rank = said["shape"], np.dtype(said["dtype"]), int(said["ragged_rank"])
    if dtype.hasobject:
        raise ValueError("objects")
    return RaggedSpec(shape, dtype, rank) if rank else Spec(shape, dtype)


def name_of(dtype: np.dtype[Any]) -> str:
    """A dtype as text that NumPy takes back."""
    if dtype.kind in "SU":
        return dtype.kind
    return dtype.name if dtype.kind == "V" else dtype.str


def _structure(structure: Structure) -> Any:
    if structure.kind is None:
        return None
    for key in structure.keys:
        if type(key) not in (str, int):
            raise UnsupportedValueError(
                "a key that cannot be kept in a directory", got=repr(key), expected="str or int keys"
            )
    kind = structure.kind if structure.kind in (tuple, dict) else None
    return {
        "kind": kind.__name__ if kind is not None else [structure.kind.__module__, structure.kind.__qualname__],
        "keys": list(structure.keys),
        "children": list(map(_structure, structure.children)),
    }


def _structure_from(said: Any) -> Structure:
    if said is None:
        return Structure()
    keys = tuple(said["keys"])
    children = tuple(map(_structure_from, said["children"]))
    if not children or len(children) != len(keys):
        raise ValueError("a structure without leaves")
    plain: dict[str, type] = {"tuple": tuple, "dict": dict}
    if isinstance(said["kind"], str):
        kind = plain[said["kind"]]
    else:
        module, name = said["kind"]
        kind = _named_tuple(module, name, keys)
    return Structure(kind, keys, children, sum(child.leaf_count for child in children))


def _named_tuple(module: str, name: str, fields: tuple[str, ...]) -> type:
    """The user's class, if it is there already; nothing is imported. Else one made from data."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and issubclass(found, tuple) and getattr(found, "_fields", None) == fields:
        return found
    made: type = namedtuple(name.rpartition(".")[2], fields)  # type: ignore[misc]  # its name is data
    return made
