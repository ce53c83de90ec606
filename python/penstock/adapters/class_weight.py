"""`class_weight` as weights of samples, for training loops that would ignore it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import InvalidArgumentError


def weigher(class_weight: Any) -> Callable[[Any], Any]:
    """A function from a batch (inputs, targets) to (inputs, targets, weights), one float32 for each target's class.

    A target is a class number, or one-hot in a last axis longer than 1, as Keras has it; a class that is not named
    weighs 1. Raises: InvalidArgumentError: no mapping from numbers to numbers; from the function, other batches.
    Cost: a binary search for each target.
    """
    if not isinstance(class_weight, Mapping) or not class_weight:
        raise InvalidArgumentError(
            "fit: class_weight", got=repr(class_weight), expected="a dict from class numbers to weights"
        )
    try:
        named = sorted((int(number), float(weight)) for number, weight in class_weight.items())
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError("fit: class_weight", got=str(error), expected="numbers") from error
    classes = np.array([number for number, _ in named], np.int64)
    weights = np.array([weight for _, weight in named], np.float32)

    def weigh(batch: Any) -> Any:
        if not isinstance(batch, tuple) or len(batch) != 2 or not isinstance(batch[1], np.ndarray):
            raise InvalidArgumentError(
                "fit: class_weight needs elements of (inputs, targets), with one array of targets",
                got=_said(batch),
                remedy="map each element to (inputs, targets, sample_weight) instead",
            )
        inputs, targets = batch
        wanted = class_numbers(targets)
        found = np.minimum(np.searchsorted(classes, wanted), classes.size - 1)
        return inputs, targets, np.where(classes[found] == wanted, weights[found], np.float32(1))

    return weigh


def class_numbers(targets: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The class of each target: [n], [n, 1] or one-hot [n, classes], as Keras reads them.

    Raises: InvalidArgumentError: they are no numbers.
    """
    if targets.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            "fit: class_weight needs targets that are class numbers", got=f"dtype {targets.dtype}"
        )
    if targets.ndim > 1:
        targets = targets.argmax(axis=-1) if targets.shape[-1] != 1 else targets[..., 0]
    return np.round(targets).astype(np.int64)


def _said(batch: Any) -> str:
    if not isinstance(batch, tuple):
        return f"a {type(batch).__name__}"
    return f"{len(batch)} parts, the second a {type(batch[1]).__name__}" if len(batch) > 1 else "1 part"
