# ruff: noqa: PIE804, PLC3002  # users do write so
"""Functions that prepare data the way people write them, and that `impurity` must see to be pure."""

from __future__ import annotations

import functools
import math
import operator
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.trace.purity import impurity

MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])
LABELS = {"cat": 0, "dog": 1}
WORDS = ["a", "b"]
PALETTE = (np.zeros(3), np.ones(3))
Pair = namedtuple("Pair", "image label")


def _scale(image: Any, factor: float = 255.0) -> Any:
    image = image.astype(np.float32)
    image /= factor
    return image


def _standardise(image: Any) -> Any:
    image = image.astype(np.float32) / 255
    image -= MEAN
    image /= STD
    return image


def _branches(image: Any, label: int) -> Any:
    if label > 3 and image.mean() > 0.5:
        image = image[::-1]
    elif not label:
        image = image * 2
    return image, label


def _loop(x: Any) -> Any:
    total = 0
    for weight in MEAN:
        total += weight * x
    return total


def _pad(tokens: Any) -> Any:
    return np.pad(tokens, (0, 8 - len(tokens)), constant_values=0)


def _raises(x: Any) -> Any:
    if x < 0:
        raise ValueError(f"negative: {x}")
    return x


def _inner(x: Any) -> Any:
    def double(y: Any) -> Any:
        return y * 2

    return double(x) + 1


def _local_copy(x: Any) -> Any:
    offsets = MEAN.copy()
    offsets += x
    return offsets


def _factory(scale: float, table: dict[str, int]) -> Callable[..., Any]:
    return lambda x: x * scale + table["cat"]


def _star(*parts: Any, **named: Any) -> Any:
    return parts[0] + named.get("bias", 0)


def _calls_star(x: Any) -> Any:
    return _star(*(x, 1), **{"bias": 2})


def _recursion(n: int) -> int:
    return 1 if n < 2 else n * _recursion(n - 1)


def _keyword_only(x: Any, *, axis: int = -1) -> Any:
    return np.flip(x, axis=axis)


PURE: dict[str, Callable[..., Any]] = {
    "identity": lambda x: x,
    "arithmetic": lambda x: (x + 1) * 2 - x / 3 // 4 % 5**2,
    "comparison": lambda x: x > 0 and x != 3,
    "bitwise": lambda x: ~(x & 1 | 2 ^ 3) << 1 >> 2,
    "matrix_product": lambda x: x @ np.eye(3),
    "numpy_call": lambda x: np.clip(np.sqrt(x), 0, 1).astype(np.float32),
    "numpy_submodule": lambda x: np.linalg.norm(x) + np.fft.fft(x).real,
    "method": lambda x: x.reshape(-1).sum(axis=0),
    "index": lambda x: x[..., ::-1][0, 1:],
    "dict_element": lambda d: {"image": d["image"] / 255, "label": d.get("label", 0)},
    "merged_dict": lambda d: {**d, "size": len(d)},
    "tuple_result": lambda image, label: (image, label),
    "conditional": lambda x: x if x > 0 else -x,
    "f_string": lambda path: f"{path!r:>10}.jpg",
    "text": lambda path: path.decode().split("/")[-1].removesuffix(".jpg").lower(),
    "comprehension": lambda x: [v * 2 for v in x if v > 0],
    "dict_comprehension": lambda d: {key: value + 1 for key, value in d.items()},
    "set_comprehension": lambda x: len({v % 3 for v in x}),
    "generator_expression": lambda x: sum(v * v for v in x),
    "nested_comprehension": lambda x: [[a * b for a in x] for b in x],
    "sorted_by_key": lambda x: sorted(x, key=lambda v: -v),
    "global_array": lambda x: (x - MEAN) / STD,
    "global_dict": lambda name: LABELS[name],
    "global_list": lambda i: WORDS[i],
    "global_tuple_of_arrays": lambda i: PALETTE[i] + 1,
    "closure": _factory(2.0, {"cat": 3}),
    "math": lambda x: math.floor(math.log1p(x)) + math.pi,
    "read_and_decode": lambda path, label: (ps.image.resize(ps.io.decode_jpeg(ps.io.read_file(path)), (8, 8)), label),
    "random_op": lambda image: ps.image.random_flip_left_right(image),
    "rng": lambda x, rng: x + rng.normal(size=3),
    "cast": lambda x: ps.cast(x, "float32"),
    "namedtuple": lambda image, label: Pair(image, label),
    "namedtuple_field": lambda pair: pair.items,
    "partial": functools.partial(_scale, factor=127.5),
    "partial_of_numpy": functools.partial(np.full, 3),
    "itemgetter": operator.itemgetter("image"),
    "operator": lambda x: operator.add(x, 1),
    "ufunc": np.log1p,
    "numpy_function": np.sum,
    "numpy_type": np.float32,
    "builtin": abs,
    "builtin_type": int,
    "text_method": str.upper,
    "in_place_on_argument_copy": _scale,
    "in_place_by_captured": _standardise,
    "in_place_on_copy_of_captured": _local_copy,
    "loop": _loop,
    "branches": _branches,
    "raises": _raises,
    "inner_function": _inner,
    "star_arguments": _calls_star,
    "recursion": _recursion,
    "keyword_only_default": _keyword_only,
    "padding": _pad,
    "nested_pure_functions": lambda x: _scale(_pad(x)),
    "helper_beside_captured": lambda x: (_scale(x) - MEAN) / STD,
    "ufunc_of_captured": lambda x: np.subtract(x, MEAN),
    "interpolation": lambda x: np.interp(x, MEAN, STD),
    "membership": lambda name: name in LABELS and name is not None,
    "walrus": lambda x: (y := x * 2) + y,
    "unpacking": lambda pair: (lambda a, b: a + b)(*pair),
    "zip_and_enumerate": lambda x: [i * a for i, a in enumerate(zip(x, x, strict=True))],
    "isinstance": lambda x: x.decode() if isinstance(x, bytes) else str(x),
    "slices": lambda x: x[slice(0, 2)],
}


@pytest.mark.parametrize("name", PURE)
def test_impurity_is_none_for_what_depends_on_arguments_alone(name: str) -> None:
    assert impurity(PURE[name]) is None


def test_impurity_takes_an_assertion() -> None:
    space: dict[str, Any] = {}
    exec(
        "def f(x):\n    assert x > 0, 'negative'\n    return x", space
    )  # out of the reach of pytest, which rewrites assertions
    assert impurity(space["f"]) is None


def test_impurity_does_not_run_the_function() -> None:
    def explode(x: Any) -> Any:
        raise AssertionError("ran")

    assert impurity(explode) is None
