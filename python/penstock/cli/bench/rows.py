"""How many elements a batch holds, by what its loader says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import penstock as ps
from penstock.session.node_facts import rows_are_batched


def rows_in(loader: Iterable[Any]) -> Callable[[Any], int | None]:
    """A function from a batch to its elements; to None where the loader does not say whether it makes batches."""
    if isinstance(loader, ps.Dataset):
        return _leading if rows_are_batched(loader._node) else lambda _: 1
    if isinstance(getattr(loader, "batch_size", None), int) or _is_batched_tf_data(loader):
        return _leading
    return lambda _: None


def _is_batched_tf_data(loader: Any) -> bool:
    """Whether the last verb of a `tf.data.Dataset` that changes how many elements there are makes batches."""
    while loader is not None:
        name = type(loader).__name__.lower()
        if "unbatch" in name:
            return False
        if "batch" in name:
            return True
        loader = getattr(loader, "_input_dataset", None)
    return False


def _leading(batch: Any) -> int | None:
    """Rows of the first leaf, None if it has none."""
    while isinstance(batch, tuple | list | dict):
        if not batch:
            return None
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(batch) if hasattr(batch, "__len__") and not isinstance(batch, str | bytes) else None
