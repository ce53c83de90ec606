"""Texts of what functions compute with: equal in every process, different where a result may be."""

from __future__ import annotations

import dataclasses
import enum
import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.trace.contents import Contents, UnhashableError


@dataclasses.dataclass(frozen=True)
class Config:
    size: int = 3
    names: tuple[str, ...] = ("a", "b")


class Kind(enum.Enum):
    ONE = 1
    TWO = 2


class Base:
    def step(self, x: Any) -> Any:
        return x + 1


class Scaled(Base):
    factor = 2

    def __init__(self, words: set[str]) -> None:
        self.words = words
        self.me = self

    def __call__(self, x: Any) -> Any:
        return self.step(x) * self.factor


TABLE = {"a": [1, 2, {"b": (3.5, None)}], "c": frozenset("xyz")}


@functools.lru_cache
def remembered(x: Any) -> Any:
    return x


def uses_all(x: Any, k: int = 2) -> Any:
    inner = lambda y: y + TABLE["a"][0]  # noqa: E731
    return inner(np.sqrt(x)) * k + len(remembered(x)) + (x in {"p", "q"})


VALUES: dict[str, Callable[[], Any]] = {
    "function": lambda: uses_all,
    "object": lambda: Scaled({"one", "two", "three", "four"}),
    "method": lambda: Scaled({"one", "two"}).step,
    "dataclass": lambda: Config(4),
    "enum": lambda: Kind.TWO,
    "pattern": lambda: re.compile("a+"),
    "partial": lambda: functools.partial(uses_all, k=3),
    "cached": lambda: remembered,
    "array": lambda: np.arange(4, dtype=">i2"),
    "objects": lambda: np.array([1, "a", None], dtype=object),
    "long list": lambda: [f"n{number}" for number in range(100)],
    "list of tuples": lambda: [(f"dir/{number}", number) for number in range(100)],
    "path": lambda: PurePosixPath("/a/b"),
    "class": lambda: Scaled,
    "generator state": lambda: np.random.default_rng(3),
    "op": lambda: ps.image.random_flip_left_right,
}


def texts(value: Any) -> list[Any]:
    contents = Contents(lambda dataset: "a dataset")
    return [contents.of(value, "it"), sorted(contents.pieces.items()), list(contents.paths), contents.draws]


def test_texts_are_the_same_in_another_process() -> None:
    code = (
        "import sys; from tests.unit.trace import test_contents as t\n"
        "for name, make in t.VALUES.items(): print(name, t.texts(make()))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "7"}
    told = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True)
    here = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**environment, "PYTHONHASHSEED": "8"},
        capture_output=True,
        text=True,
    )
    assert told.stdout == here.stdout
    assert len(told.stdout.splitlines()) == len(VALUES)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("1", b"1"),
        ((1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (["ab", "c"], ["a", "bc"]),
        ([f"n{n}" for n in range(100)], [f"n{n}" for n in range(99)] + ["other"]),
        (list(range(100)), [float(n) for n in range(100)]),
        ([(n, "a") for n in range(100)], [(n, "a") for n in range(99)] + [(0, "a")]),
        (np.arange(4), np.arange(4).reshape(2, 2)),
        (np.arange(4), np.arange(4, dtype=np.uint64)),
        (Config(3), Config(4)),
        (Kind.ONE, Kind.TWO),
        (re.compile("a"), re.compile("a", re.IGNORECASE)),
        (functools.partial(uses_all, k=3), functools.partial(uses_all, k=4)),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: x + 1, lambda x: x + 1.0),
        (lambda x: x in {1, 2}, lambda x: x in {1, 3}),
        (Scaled({"a"}), Scaled({"b"})),
    ],
)
def test_what_differs_has_other_texts(one: Any, other: Any) -> None:
    assert texts(one) != texts(other)
    assert texts(one) == texts(one)


def test_texts_that_look_like_paths_are_noted() -> None:
    place = "/data/table.csv"

    def read(x: Any) -> Any:
        return open(place), open("other/file.txt"), x

    assert set(texts(read)[2]) == {"/data/table.csv", "other/file.txt"}
    assert texts([f"dir/{n}" for n in range(50)])[2] == [f"dir/{n}" for n in range(50)]


def test_random_ops_are_noted() -> None:
    assert texts(lambda x: ps.image.random_flip_left_right(x))[3]
    assert not texts(lambda x: ps.image.flip_left_right(x))[3]


def test_packages_go_by_version() -> None:
    pieces = dict(texts(lambda x: np.sqrt(x))[1])
    assert pieces["package numpy"] == np.__version__


@pytest.mark.parametrize("value", [threading.Lock(), (x for x in [1]), sys.stdout, sys._getframe()])
def test_what_nobody_can_compare_is_told_with_its_name(value: Any) -> None:
    with pytest.raises(UnhashableError, match="it: "):
        texts({"a": [value]})


def test_a_function_that_calls_itself_ends() -> None:
    def down(x: int) -> int:
        return x and down(x - 1)

    assert texts(down)[0].startswith("function")
