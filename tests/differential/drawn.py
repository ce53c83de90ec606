"""Pipelines of the shared verbs, drawn by Hypothesis and built on both sides at once.

What an element is, is read off tf.data's `element_spec`; it says which verbs may follow. Left out is what differs by
design (shuffles, other random numbers) and what would never end (a filter that lets nothing of an endless dataset
through).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

import penstock as ps
from tests.differential.functions import Function, Functions, one
from tests.differential.twins import Twin

T = TypeVar("T")

MOST_LEAVES = 6
SIZES = (9, 5, 7, 8, 3, 1, 12, 0)


@dataclass(frozen=True)
class Chain:
    """A twin, and what its spec does not say.

    batched: elements have rows. endless: it may not end. opaque: a function decides the spec, which Penstock then finds
    by looking. windows: elements are datasets.
    """

    tf: ModuleType
    functions: Functions
    twin: Twin
    batched: bool = False
    endless: bool = False
    opaque: bool = False
    windows: bool = False

    @property
    def spec(self) -> Any:
        return self.twin.theirs.element_spec

    @property
    def leaves(self) -> list[Any]:
        return list(self.tf.nest.flatten(self.spec))

    @property
    def is_number(self) -> bool:
        return self._is_one(0, self.tf.int64)

    @property
    def is_row(self) -> bool:
        return self._is_one(1, self.tf.int64)

    def _is_one(self, rank: int, dtype: Any) -> bool:
        spec = self.spec
        return isinstance(spec, self.tf.TensorSpec) and spec.shape.rank == rank and spec.dtype == dtype

    @property
    def has_rows(self) -> bool:
        """Whether elements have rows of one shape, of some bytes: tf.data crashes when it takes apart rows of none."""
        return self.batched and all(all(leaf.shape[1:].as_list()) for leaf in self.leaves)

    @property
    def stacks(self) -> bool:
        """Whether all elements, or those of windows, have one shape."""
        leaves = [leaf.element_spec for leaf in self.leaves] if self.windows else self.leaves
        return all(leaf.shape.is_fully_defined() for leaf in leaves)

    def verb(self, name: str, *args: Any, **changes: Any) -> Chain:
        return replace(self, twin=self.twin.verb(name, *args), **changes)

    def of(self, text: str, ours: Any, theirs: Any, **changes: Any) -> Chain:
        return replace(self, twin=Twin(ours, theirs, "any", f"{self.twin.text}.{text}"), **changes)

    def applied(self, name: str, function: Function, *args: Any, before: tuple[Any, ...] = (), **changes: Any) -> Chain:
        """`name(*before, function, *args)` on both."""
        told = ", ".join(map(str, [*before, function.text, *args]))
        return self.of(
            f"{name}({told})",
            getattr(self.twin.ours, name)(*before, function.ours, *args),
            getattr(self.twin.theirs, name)(*before, function.theirs, *args),
            **{"opaque": True, **changes},
        )

    def nesting(self, name: str, text: str, function: Callable[[Any], Any], *args: Any, **changes: Any) -> Chain:
        """As `applied`, of a function of each side's Dataset class that gives what makes datasets."""
        made = self.functions.nested(text, function, ps.Dataset, self.tf.data.Dataset)
        return self.applied(name, made, *args, **changes)


def _one_of(draw: st.DrawFn, values: Sequence[T]) -> T:
    """One of some values, by its place: Hypothesis orders what it varies by hashes, which differ from run to run."""
    return values[draw(st.integers(0, len(values) - 1))]


# --- sources ----------------------------------------------------------------------------------------------------------


def _range(draw: st.DrawFn, chain: Chain) -> Chain:
    start, stop = draw(st.integers(-3, 3)), _one_of(draw, [2, 5, 7, 9, 10, 12, 13, 17, 21, -3])
    step = _one_of(draw, [1, 1, 1, 2, 3, 5])
    made = Twin(
        ps.Dataset.range(start, stop, step), chain.tf.data.Dataset.range(start, stop, step), "any",
        f"range({start}, {stop}, {step})",
    )  # fmt: skip
    return replace(chain, twin=made)


def _arrays(draw: st.DrawFn, chain: Chain) -> Chain:
    count = _one_of(draw, SIZES)
    numbers = np.arange(count, dtype=np.int64) * 2
    tensors = _one_of(
        draw,
        [
            numbers,
            {"a": numbers, "b": np.arange(2 * count, dtype=np.float32).reshape(count, 2)},
            (numbers, {"t": np.array([b"x" * n for n in range(count)], dtype=object), "u": (numbers > 3, numbers)}),
            (numbers.astype(np.uint8), np.zeros((count, 0), np.float64)),
            (numbers,),
        ],
    )
    whole = draw(st.integers(0, 9)) == 0
    name = "from_tensors" if whole else "from_tensor_slices"
    made = Twin(
        getattr(ps.Dataset, name)(tensors), getattr(chain.tf.data.Dataset, name)(tensors), "any", f"{name}({tensors})"
    )
    return replace(chain, twin=made, opaque=not count)  # of no text, bytes or str is not known


def _stream(draw: st.DrawFn, chain: Chain) -> Chain:
    tf, count, nested = chain.tf, _one_of(draw, SIZES), draw(st.booleans())

    def generate() -> Iterator[Any]:
        for number in range(count):
            row = np.arange(number % 4, dtype=np.int32)
            yield {"n": number, "r": row} if nested else number

    ours: Any = ps.Spec((), np.int64)
    theirs: Any = tf.TensorSpec((), tf.int64)
    if nested:
        ours = {"n": ours, "r": ps.Spec((None,), np.int32)}
        theirs = {"n": theirs, "r": tf.TensorSpec((None,), tf.int32)}
    made = Twin(
        ps.Dataset.from_generator(generate, output_signature=ours),
        tf.data.Dataset.from_generator(generate, output_signature=theirs),
        "any",
        f"generator({count}, nested={nested})",
    )
    return replace(chain, twin=made)


def _rows(draw: st.DrawFn, chain: Chain) -> Chain:
    """Rows of different lengths."""
    return _range(draw, chain).applied("map", chain.functions.row)


SOURCES: dict[str, Callable[[st.DrawFn, Chain], Chain]] = {
    "range": _range, "arrays": _arrays, "generator": _stream, "rows": _rows,
}  # fmt: skip


# --- verbs ------------------------------------------------------------------------------------------------------------

Step = Callable[[st.DrawFn, Chain], Chain]


def _sized(draw: st.DrawFn, chain: Chain) -> Chain:
    name = _one_of(draw, ["take", "skip"])
    count = _one_of(draw, [1, 2, 3, -1, 0] if name == "skip" else [5, 9, 4, 7, 1, 0, -1])
    return chain.verb(name, count, endless=chain.endless and (name == "skip" or count < 0))


def _shard(draw: st.DrawFn, chain: Chain) -> Chain:
    shards = _one_of(draw, [2, 1, 3])
    return chain.verb("shard", shards, draw(st.integers(0, shards - 1)))


def _repeat(draw: st.DrawFn, chain: Chain) -> Chain:
    count = _one_of(draw, [2, 3, None, 1, 2, None, 0])
    return chain.verb("repeat", count, endless=chain.endless or count is None)


def _batch(draw: st.DrawFn, chain: Chain) -> Chain:
    return chain.verb("batch", draw(st.integers(1, 5)), _one_of(draw, [False, False, True]), batched=True)


def _padded(draw: st.DrawFn, chain: Chain) -> Chain:
    return chain.verb("padded_batch", draw(st.integers(1, 4)), None, None, draw(st.booleans()), batched=True)


def _buckets(draw: st.DrawFn, chain: Chain) -> Chain:
    drop = draw(st.booleans())
    return chain.applied(
        "bucket_by_sequence_length", chain.functions.length, [2, 4], [3, 2, 1], None, None, False, False, drop,
        batched=True,
    )  # fmt: skip


def _rebatch(draw: st.DrawFn, chain: Chain) -> Chain:
    sizes = draw(st.integers(1, 5) | st.lists(st.integers(1, 5), min_size=1, max_size=3))
    return chain.verb("rebatch", sizes, draw(st.booleans()))


def _map(draw: st.DrawFn, chain: Chain) -> Chain:
    known = chain.functions
    options = [*known.plain, known.digest]
    if chain.is_number:
        options += [*known.numeric * 2, *known.to_other, known.row]
    if len(chain.leaves) * 2 <= MOST_LEAVES:
        options += known.nesting
    function = _one_of(draw, options)
    return chain.applied("map", function, batched=chain.batched and function in known.nesting + known.plain)


def _filter(draw: st.DrawFn, chain: Chain) -> Chain:
    known = chain.functions
    function = _one_of(draw, [known.filter_any, *(known.filters if chain.is_number else ())])
    return chain.applied("filter", function, opaque=chain.opaque)


def _zip(draw: st.DrawFn, chain: Chain) -> Chain:
    tf, twin, stop = chain.tf, chain.twin, _one_of(draw, [9, 12, 20, 3, 0])
    form, text = _one_of(
        draw,
        [
            (lambda a, b: (a, b), "(self, range)"),
            (lambda a, b: {"y": a, "x": (b, b)}, "{y: self, x: (range, range)}"),
            (lambda a, b: (b, a, a.skip(1)), "(range, self, self.skip(1))"),
        ],
    )
    return chain.of(
        f"zip{text}{stop}",
        ps.Dataset.zip(form(twin.ours, ps.Dataset.range(stop))),
        tf.data.Dataset.zip(form(twin.theirs, tf.data.Dataset.range(stop))),
        batched=False, endless=False,
    )  # fmt: skip


def _concatenate(draw: st.DrawFn, chain: Chain) -> Chain:
    twin, count = chain.twin, draw(st.integers(0, 4))
    return chain.of(
        f"concatenate(take({count}))",
        twin.ours.concatenate(twin.ours.take(count)),
        twin.theirs.concatenate(twin.theirs.take(count)),
    )


def _choose(draw: st.DrawFn, chain: Chain) -> Chain:
    twin, tf = chain.twin, chain.tf
    choices = np.array(draw(st.lists(st.integers(0, 2), min_size=1, max_size=12)), dtype=np.int64)
    stop = draw(st.booleans())

    def parts(dataset: Any) -> list[Any]:
        return [dataset, dataset.take(2), dataset.skip(3)]

    def chosen(module: Any, dataset: Any) -> Any:
        return module.choose_from_datasets(parts(dataset), module.from_tensor_slices(choices), stop)

    return chain.of(
        f"choose({choices.tolist()}, {stop})", chosen(ps.Dataset, twin.ours), chosen(tf.data.Dataset, twin.theirs),
        endless=False,
    )  # fmt: skip


def _scan(draw: st.DrawFn, chain: Chain) -> Chain:
    function = chain.functions.sums if chain.is_number and draw(st.booleans()) else chain.functions.counts
    return chain.applied("scan", function, before=(np.int64(draw(st.integers(0, 3))),), batched=False)


def _nested(draw: st.DrawFn, chain: Chain) -> Chain:
    """flat_map and interleave, of datasets of every kind."""
    found: list[tuple[str, Callable[[Any], Any], bool]] = [
        ("from_tensors(e).repeat(2)", lambda module: lambda *e: module.from_tensors(one(e)).repeat(2), chain.batched)
    ]
    if chain.batched:
        found.append(("from_tensor_slices(e)", lambda module: lambda *e: module.from_tensor_slices(one(e)), False))
    if chain.is_number:
        found += [
            ("range(x * 10, x * 10 + x % 4)", lambda module: lambda x: module.range(x * 10, x * 10 + x % 4), False),
            ("range(x % 3).batch(2)", lambda module: lambda x: module.range(x % 3).batch(2), True),
            ("range(3).map(y + x)", lambda module: lambda x: module.range(3).map(lambda y: y + x), False),
            (
                "range(2).flat_map(range(y + x % 3))",
                lambda module: lambda x: module.range(2).flat_map(lambda y: module.range(y + x % 3)),
                False,
            ),
        ]
    text, function, batched = _one_of(draw, found)
    if draw(st.booleans()):
        return chain.nesting("flat_map", text, function, batched=batched)
    cycle, block = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    parallel = _one_of(draw, [None, None, min(2, cycle)])  # tf.data refuses more
    return chain.nesting("interleave", text, function, cycle, block, parallel, batched=batched)


def _window(draw: st.DrawFn, chain: Chain) -> Chain:
    size, shift = draw(st.integers(1, 4)), _one_of(draw, [None, 1, 2, 5])
    return chain.verb("window", size, shift, draw(st.integers(1, 2)), draw(st.booleans()), windows=True, batched=False)


def _opened(draw: st.DrawFn, chain: Chain) -> Chain:
    """Windows become batches, or elements again."""
    size = _one_of(draw, [2, 9, None]) if chain.stacks else None

    def batches(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: batches(part) for key, part in value.items()}
        if isinstance(value, tuple):
            return tuple(map(batches, value))
        return value if size is None else value.batch(size)

    def function(module: Any) -> Any:
        def opened(*window: Any) -> Any:
            nest = batches(one(window))
            return module.zip(nest) if isinstance(nest, tuple | dict) else nest

        return opened

    return chain.nesting("flat_map", f"zip(batch({size}))", function, windows=False, batched=size is not None)


def _groups(draw: st.DrawFn, chain: Chain) -> Chain:
    key = chain.functions.keys[_one_of(draw, [1, 2, 3])]
    size, inner = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    verb = "batch" if chain.stacks and draw(st.booleans()) else "take"
    reduce = chain.functions.nested(f"{verb}({inner})", lambda _: lambda k, w: getattr(w, verb)(inner), None, None)
    return chain.of(
        f"group_by_window({key.text}, {reduce.text}, {size})",
        chain.twin.ours.group_by_window(key.ours, reduce.ours, size),
        chain.twin.theirs.group_by_window(key.theirs, reduce.theirs, size),
        batched=verb == "batch" or chain.batched, opaque=True,
    )  # fmt: skip


def steps(chain: Chain) -> list[Step]:
    """What may follow; a verb stands twice to be drawn more often."""
    found: list[Step] = [_sized, _shard, _repeat]
    if chain.windows:
        return [*found, _opened, _opened, _opened]
    found += [_sized, _map, _map, _concatenate, _scan, lambda draw, c: c.verb("prefetch", 2)]
    if len(chain.leaves) * 2 <= MOST_LEAVES:
        found += [_zip, lambda draw, c: c.verb("enumerate", draw(st.integers(0, 3)), batched=False)]
    if chain.stacks:
        found += [_batch, _batch]
    elif not chain.endless:
        found.append(_padded)
    if chain.has_rows:
        found += [lambda draw, c: c.verb("unbatch", batched=False), _rebatch]
    if chain.is_row:
        found += [_buckets]
    if chain.is_number:
        found.append(lambda draw, c: c.applied("take_while", c.functions.while_small, opaque=c.opaque))
    found += [_window]
    if not chain.endless:
        found += [_filter, _nested, _nested, _groups, _choose, lambda draw, c: c.verb("cache")]
        if chain.is_number:
            found.append(lambda draw, c: c.verb("unique"))
    return found


@st.composite
def chains(draw: st.DrawFn, tf: ModuleType, functions: Functions, source: str, depth: int = 8) -> list[Chain]:
    """A source and up to `depth` verbs above it: the pipelines on the way, the whole one last."""
    nothing = Twin(ps.Dataset.range(0), None, "any", "")
    made = [SOURCES[source](draw, Chain(tf, functions, nothing))]
    for _ in range(_one_of(draw, range(2, depth + 1))):
        made.append(_one_of(draw, steps(made[-1]))(draw, made[-1]))
    return made
