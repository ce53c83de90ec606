"""Functions that change in place what they captured, and near misses that do not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from penstock.trace.purity import impurity

KEPT: list[Any] = []
BUFFER = np.zeros(3)
FROZEN = np.zeros(3)
FROZEN.flags.writeable = False


def _alias(x: Any) -> Any:
    kept = KEPT
    kept += [x]
    return len(kept)


def _view(x: Any) -> Any:
    rows = BUFFER.reshape(3, 1)
    rows += x
    return rows.sum()


def _no_copy(x: Any) -> Any:
    same = BUFFER.astype(np.float64, copy=False)
    same += x
    return same.sum()


def _branch(x: Any) -> Any:
    out = BUFFER if x > 0 else x
    out += 1
    return out


def _branch_constant(x: Any) -> Any:
    out = BUFFER if x > 0 else 1
    out += 1
    return out


def _statement_branch(x: Any) -> Any:
    out = x
    if x > 0:
        out = BUFFER
    out += 1
    return out


def _chained(x: Any) -> Any:
    a = b = BUFFER
    b += x
    return a.sum()


def _unpacked(x: Any) -> Any:
    a, b = BUFFER, x
    a += b
    return b


def _loop_variable(x: Any) -> Any:
    for row in KEPT:
        row += x  # noqa: PLW2901  # what is tested
    return x


def _late_in_loop(x: Any) -> Any:
    total = x.copy()
    for _ in range(2):
        total += 1
        total = BUFFER
    return total.sum()


def _default(x: Any, kept: list[Any] = []) -> Any:  # noqa: B006  # what is tested
    kept += [x]
    return len(kept)


def _keyword_default(x: Any, *, total: Any = np.zeros(1)) -> Any:  # noqa: B008  # what is tested
    total += x
    return total.sum()


def _accumulate(total: Any, x: Any) -> Any:
    total += x
    return total.sum()


def _handed_on(x: Any) -> Any:
    return _accumulate(BUFFER, x)


def _lambda_handed_on(x: Any) -> Any:
    def add(total: Any) -> Any:
        total += x
        return total

    return add(BUFFER)


def _star_out(x: Any) -> Any:
    keywords = {"out": BUFFER}
    return np.add(x, 1, **keywords)


def _closure() -> Callable[..., Any]:
    total = np.zeros(1)

    def add(x: Any) -> Any:
        seen = total
        seen += x
        return seen.sum()

    return add


CHANGING: dict[str, tuple[Callable[..., Any], str]] = {
    "alias": (_alias, "'kept' in place"),
    "view": (_view, "'rows' in place"),
    "astype_without_copy": (_no_copy, "'same' in place"),
    "conditional": (_branch, "'out' in place"),
    "conditional_with_constant": (_branch_constant, "'out' in place"),
    "branch": (_statement_branch, "'out' in place"),
    "chained_assignment": (_chained, "'b' in place"),
    "unpacking": (_unpacked, "'a' in place"),
    "loop_variable": (_loop_variable, "'row' in place"),
    "next_round_of_a_loop": (_late_in_loop, "'total' in place"),
    "mutable_default": (_default, "'kept' in place"),
    "mutable_keyword_default": (_keyword_default, "'total' in place"),
    "handed_to_a_helper": (_handed_on, "'total' in place"),
    "handed_to_an_inner_function": (_lambda_handed_on, "'total' in place"),
    "partial": (functools.partial(_accumulate, BUFFER), "'total' in place"),
    "closure": (_closure(), "'seen' in place"),
    "out": (lambda x: np.add(x, 1, out=BUFFER), "out="),
    "out_of_method": (lambda x: x.clip(0, 1, out=BUFFER), "out="),
    "out_by_position": (lambda x: np.add(x, 1, BUFFER), "out"),
    "out_by_star": (_star_out, "out="),
    "partition": (lambda x: BUFFER.partition(1), ".partition"),
    "resize": (lambda x: BUFFER.resize(6), ".resize"),
}


def _own_copy(x: Any) -> Any:
    out = BUFFER + 0
    out += x
    return out


def _replaced(x: Any) -> Any:
    out = BUFFER
    out = out * 2
    out += x
    return out


def _own_argument(x: Any) -> Any:
    x += 1
    return x


def _own_sum(x: Any) -> Any:
    total = 0.0
    for value in BUFFER:
        total += value * x
    return total


def _own_text(x: Any) -> Any:
    text = "a"
    text += str(KEPT)
    return text


KEEPING: dict[str, Callable[..., Any]] = {
    "own_copy": _own_copy,
    "replaced": _replaced,
    "own_argument": _own_argument,
    "own_sum": _own_sum,
    "own_text": _own_text,
    "out_into_argument": lambda x: np.add(x, 1, out=x),
    "resize_of_element": lambda image: image.resize((2, 2)),
    "partition_of_text": lambda text: text.partition("/")[0],
    "read_only_array": lambda x: x + FROZEN,
}


@pytest.mark.parametrize("name", CHANGING)
def test_impurity_sees_a_captured_object_changed_in_place(name: str) -> None:
    function, fragment = CHANGING[name]
    reason = impurity(function)
    assert reason is not None, f"{name} was called pure"
    assert fragment in reason


@pytest.mark.parametrize("name", KEEPING)
def test_impurity_lets_a_function_change_what_is_its_own(name: str) -> None:
    assert impurity(KEEPING[name]) is None


def test_impurity_sees_a_module_variable_changed_in_place() -> None:
    module = type(np)("settings")
    module.kept = KEPT  # type: ignore[attr-defined]  # a module made here
    space: dict[str, Any] = {"settings": module}
    exec("def f(x):\n    kept = settings.kept\n    kept += [x]\n    return x", space)
    assert "'kept' in place" in str(impurity(space["f"]))


def test_impurity_refuses_a_captured_object_of_unknown_kind() -> None:
    space = SimpleNamespace(total=0)
    assert "unknown kind" in str(impurity(lambda x: x + space.total))
