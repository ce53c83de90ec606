"""Elements that lie in files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.formats.files import LocalFile
from penstock.graph.node import Node, Signature


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayFile(Node):
    """Rows or windows of the numbers in a file: element i is `shape` of `dtype` from byte `offset + i * stride` on."""

    file: LocalFile
    offset: int
    stride: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    count: int
    name: str
    verb: ClassVar[str] = "from_array_file"

    @cached_property
    def label(self) -> str:
        return f"{self.name} at {self.location}"

    def cardinality(self) -> int:
        return self.count

    def signature(self) -> Signature | None:
        return Signature(Structure(), (Spec(self.shape, self.dtype.newbyteorder("=")),))

    def parameters(self) -> dict[str, Any]:
        return {"count": self.count, "shape": self.shape, "dtype": str(self.dtype), "stride": self.stride}
