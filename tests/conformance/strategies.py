"""Pipelines drawn at random: sources and verbs of every kind, put together as a user might."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock import Dataset, Options
from penstock.optimize.order import RULE_NAMES
from tests.conformance.registry import Squares, double, logged, nested, noisy, numbers, odd_fails, reusing, stream

Make = Callable[[], Dataset]


def digest(*element: Any) -> int:
    """Any element as a number, so that any verb can follow any other."""
    return sum(_digest(part) for part in element) % 1009


def _digest(value: Any) -> int:
    if isinstance(value, dict):
        return sum(3 * _digest(part) for part in value.values())
    if isinstance(value, tuple):
        return sum(5 * _digest(part) for part in value)
    if isinstance(value, str | bytes):
        return len(value)
    return int(np.nan_to_num(np.asarray(value, dtype=np.float64) * 7).sum())


class Described:
    """A pipeline that can be built again, and its text."""

    def __init__(self, make: Make, text: str, draws: bool = False) -> None:
        self.make = make
        self.text = text

    def then(self, text: str, verb: Callable[[Dataset], Dataset]) -> Described:
        make = self.make
        return Described(lambda: verb(make()), f"{self.text}.{text}")

    def __repr__(self) -> str:
        return self.text


def sources() -> st.SearchStrategy[Described]:
    """Index-driven ones and streams, of 0 to 12 numbers."""
    count = st.integers(0, 12)
    return st.one_of(
        count.map(lambda n: Described(lambda: numbers(n), f"range({n})")),
        count.map(lambda n: Described(lambda: stream(n), f"generator({n})")),
        count.map(lambda n: Described(lambda: Dataset.from_source(Squares(n)).map(digest), f"source({n}).map(digest)")),
        st.integers(1, 12).map(
            lambda n: Described(lambda: Dataset.from_tensor_slices(np.arange(n) * 2), f"slices({n})")
        ),
    )


_FIXED: dict[str, Callable[[Dataset], Dataset]] = {
    "map(double)": lambda ds: ds.map(double),
    "map(logged)": lambda ds: ds.map(logged(double)),
    "map(reusing).map(digest)": lambda ds: ds.map(reusing()).map(digest),
    "map(nested).map(digest)": lambda ds: ds.map(nested).map(digest),
    "map(odd_fails, skip)": lambda ds: ds.map(odd_fails, on_error="skip"),
    "random_map(noisy).map(digest)": lambda ds: ds.random_map(noisy).map(digest),
    "filter": lambda ds: ds.filter(lambda x: x % 3 != 0),
    "filter(logged)": lambda ds: ds.filter(logged(lambda x: bool(x % 3 != 1))),
    "enumerate().map(digest)": lambda ds: ds.enumerate().map(digest),
    "cache()": lambda ds: ds.cache(),
    "prefetch(2)": lambda ds: ds.prefetch(2),
    "shuffle()": lambda ds: ds.shuffle(),
    "zip(self, range).map(digest)": lambda ds: Dataset.zip(ds, Dataset.range(9)).map(digest),
    "concatenate(shuffled range)": lambda ds: ds.concatenate(Dataset.range(4).shuffle().map(digest)),
    "map(digest).concatenate(itself)": lambda ds: ds.map(digest).apply(lambda d: d.concatenate(d)),
}


@st.composite
def pipelines(draw: st.DrawFn, depth: int = 7) -> Described:
    """A source and up to `depth` verbs; elements are numbers, batched at most at the end."""
    described = draw(sources())
    for _ in range(draw(st.integers(0, depth))):
        described = draw(_verb(described))
    size, drop = draw(st.integers(0, 5)), draw(st.booleans())
    return described.then(f"batch({size}, {drop})", lambda ds: ds.batch(size, drop)) if size else described


def _verb(described: Described) -> st.SearchStrategy[Described]:
    few = st.integers(0, 7)
    return st.one_of(
        st.sampled_from(sorted(_FIXED)).map(lambda name: described.then(name, _FIXED[name])),
        few.map(lambda n: described.then(f"take({n})", lambda ds: ds.take(n))),
        few.map(lambda n: described.then(f"skip({n})", lambda ds: ds.skip(n))),
        few.map(lambda n: described.then(f"shard({n + 1}, {n // 2})", lambda ds: ds.shard(n + 1, n // 2))),
        few.map(lambda n: described.then(f"shuffle({n + 1})", lambda ds: ds.shuffle(n + 1))),
        few.map(lambda n: described.then(f"shuffle(seed={n})", lambda ds: ds.shuffle(seed=n))),
        few.map(lambda n: described.then(f"repeat({n % 3})", lambda ds: ds.repeat(n % 3))),
        few.map(lambda n: described.then(f"repeat().take({n})", lambda ds: ds.repeat().take(n))),
        few.map(lambda n: described.then(f"batch({n + 1}).unbatch()", lambda ds: ds.batch(n + 1).unbatch())),
        few.map(lambda n: described.then(f"batch({n + 1}).map(digest)", lambda ds: ds.batch(n + 1).map(digest))),
    )


def ways() -> st.SearchStrategy[Options]:
    """Options that may change no result."""
    return st.builds(
        Options,
        block_size=st.sampled_from([1, 2, 3, 7, 1000, None]),
        cpu_budget=st.sampled_from([1, 4, None]),
        ram_budget=st.sampled_from([1, 1000, None]),
        executor=st.sampled_from(["threads", "inline"]),
        skip_rules=st.frozensets(st.sampled_from(RULE_NAMES)),
    )
