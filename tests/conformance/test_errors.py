"""What bad input gets: class, fields, and a text that says what, got, expected, where and what to do; nothing is left.

A failure in the middle delivers every element before it, whatever the block size. (An autouse fixture looks for
threads.)
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options, Spec
from penstock.errors import (
    DecodeError,
    InvalidArgumentError,
    NoFilesError,
    NotIndexableError,
    PenstockError,
    ReadError,
    SourceError,
    StackError,
    StructureError,
    UnsupportedValueError,
    UserFunctionError,
)
from penstock.testing import assert_same_elements
from tests.conformance.registry import Fetched, Squares, double, is_even, logged, numbers, stream, wide

HERE = r"test_errors\.py:\d+"
WAYS = [
    Options(block_size=size, executor=executor)
    for size in (1, 2, 3, 7, 1000, None)
    for executor in ("threads", "inline")
] + [Options(cpu_budget=1), Options(ram_budget=1), Options(skip_rules=frozenset(["fuse_maps", "indices_below_maps"]))]


def run(dataset: Dataset, options: Options | None = None) -> tuple[list[Any], BaseException | None]:
    """The elements that came, and what stopped them."""
    iterator = (dataset if options is None else dataset.with_options(options)).iterator(epoch=0)
    elements: list[Any] = []
    try:
        for element in iterator:
            elements.append(element)  # noqa: PERF402 - what came before the error counts
    except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
        assert list(iterator) == []  # nothing follows
        return elements, error
    return elements, None


def fails(make: Callable[[], Dataset], kind: type[PenstockError], text: str, before: list[Any]) -> PenstockError:
    """It delivers `before` and then that error, however it runs."""
    for options in WAYS:
        elements, error = run(make(), options)
        assert type(error) is kind, (options, error)
        assert_same_elements(elements, before, f"before the error, under {options}")
    import re

    assert re.search(text, str(error)), str(error)
    assert isinstance(error, PenstockError)
    return error


def fail_at(bad: int) -> Callable[[Any], Any]:
    def check(x: Any) -> Any:
        if x == bad:
            raise KeyError("missing")
        return x * 2

    return check


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["*.nothing", "", ["no/such/*", "none"]])
def test_pattern_without_files(tmp_path: Path, pattern: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoFilesError, match=HERE) as caught:
        Dataset.list_files(pattern)
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.got == repr(pattern)


def test_folder_missing_or_without_classes(tmp_path: Path) -> None:
    with pytest.raises(NoFilesError, match="no such folder"):
        Dataset.from_folder(tmp_path / "missing")
    with pytest.raises(NoFilesError, match="no class folder"):
        Dataset.from_folder(tmp_path)
    (tmp_path / "cat").mkdir()
    with pytest.raises(NoFilesError, match="1 class folders without a file"):
        Dataset.from_folder(tmp_path)
    (tmp_path / "cat" / "a.txt").touch()
    with pytest.raises(NoFilesError, match=r"ending in \.jpg"):
        Dataset.from_folder(tmp_path, extensions=[".jpg"])


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [("empty.jpg", b"", DecodeError), ("text.jpg", b"not an image", DecodeError), ("cut.jpg", None, DecodeError)],
)
def test_bad_image_among_good_ones_names_the_file(tmp_path: Path, name: str, content: bytes | None, kind: type) -> None:
    from PIL import Image

    pixels = np.arange(32 * 32 * 3, dtype=np.uint32).astype(np.uint8).reshape(32, 32, 3)
    for good in "abde":
        Image.fromarray(pixels).save(tmp_path / f"{good}.jpg")
    bad = tmp_path / f"c_{name}"
    bad.write_bytes((tmp_path / "a.jpg").read_bytes()[:400] if content is None else content)

    def make() -> Dataset:
        files = Dataset.list_files(str(tmp_path / "*.jpg"), shuffle=False)
        return files.map(lambda path: ps.io.decode_jpeg(ps.io.read_file(path)))

    for options in WAYS:
        elements, error = run(make(), options)
        assert len(elements) == 2
        assert isinstance(error, UserFunctionError)
        assert isinstance(error.__cause__, kind)
        assert bad.name in str(error)
    skipping = Dataset.list_files(str(tmp_path / "*.jpg"), shuffle=False).map(
        lambda path: ps.io.decode_jpeg(ps.io.read_file(path)), on_error="skip"
    )
    with skipping.iterator() as iterator:
        assert len(list(iterator)) == 4
        assert len(iterator.skipped) == 1
        assert bad.name in iterator.skipped[0].origin + iterator.skipped[0].error


def test_file_that_went_away(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(b"x")
    dataset = Dataset.list_files(str(tmp_path / "*"), shuffle=False).map(ps.io.read_file)
    (tmp_path / "b").unlink()
    elements, error = run(dataset)
    assert elements == [b"x"]
    assert isinstance(error, UserFunctionError)
    assert isinstance(error.__cause__, ReadError)
    assert str(tmp_path / "b") in str(error)


# --- functions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, logged])
@pytest.mark.parametrize("source", [numbers, stream])
def test_map_that_raises(source: Callable[[], Dataset], wrap: Callable[[Any], Any]) -> None:
    before = [np.int64(2 * x) for x in range(9)]
    error = fails(lambda: source().map(wrap(fail_at(9))), UserFunctionError, rf"map at .*{HERE}, element 9 of", before)
    assert isinstance(error.__cause__, KeyError)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert frames[-1].name == "check"
    assert frames[-1].line == 'raise KeyError("missing")'
    assert isinstance(error, RuntimeError)


def test_map_that_raises_in_every_place_of_a_pipeline() -> None:
    def doubled(numbers: range) -> list[Any]:
        return [np.int64(2 * x) for x in numbers]

    fails(lambda: numbers().map(fail_at(0)), UserFunctionError, "element 0 of range", [])
    fails(lambda: numbers().map(fail_at(22)), UserFunctionError, "element 22", doubled(range(22)))
    fails(
        lambda: numbers().map(fail_at(9)).batch(4),
        UserFunctionError,
        "element 9",
        [np.arange(0, 8, 2), np.arange(8, 16, 2)],
    )
    fails(
        lambda: stream().map(fail_at(9)).batch(4),
        UserFunctionError,
        "element 9",
        [np.arange(0, 8, 2), np.arange(8, 16, 2)],
    )
    fails(
        lambda: numbers().map(fail_at(9)).map(logged(double)),
        UserFunctionError,
        "KeyError",
        [np.int64(4 * x) for x in range(9)],
    )
    fails(
        lambda: numbers().filter(is_even).map(fail_at(8)),
        UserFunctionError,
        "element 8",
        [np.int64(2 * x) for x in (0, 2, 4, 6)],
    )
    fails(lambda: numbers().map(fail_at(5)).take(9).skip(2), UserFunctionError, "element 5", doubled(range(2, 5)))
    fails(lambda: stream().map(fail_at(5)).take(9).skip(2), UserFunctionError, "element 5", doubled(range(2, 5)))
    fails(lambda: numbers(7).map(fail_at(5)).repeat(2), UserFunctionError, "element 5", doubled(range(5)))
    fails(
        lambda: numbers(7).filter(is_even).map(fail_at(4)).repeat(2),
        UserFunctionError,
        "element 4",
        doubled(range(0, 4, 2)),
    )
    fails(
        lambda: numbers(4).map(double).concatenate(numbers().map(fail_at(3))),
        UserFunctionError,
        "element 3",
        doubled(range(4)) + doubled(range(3)),
    )
    fails(
        lambda: stream(4).map(double).concatenate(numbers().map(fail_at(3))),
        UserFunctionError,
        "element 3",
        doubled(range(4)) + doubled(range(3)),
    )
    fails(
        lambda: Dataset.zip(numbers(), numbers().map(fail_at(3))),
        UserFunctionError,
        "element 3",
        [(np.int64(x), np.int64(2 * x)) for x in range(3)],
    )
    fails(
        lambda: Dataset.zip(stream(), numbers().map(fail_at(3))),
        UserFunctionError,
        "element 3",
        [(np.int64(x), np.int64(2 * x)) for x in range(3)],
    )
    fails(
        lambda: Dataset.zip(stream().map(fail_at(3)), numbers()),
        UserFunctionError,
        "element 3",
        [(np.int64(2 * x), np.int64(x)) for x in range(3)],
    )
    fails(
        lambda: numbers().map(fail_at(6)).enumerate(),
        UserFunctionError,
        "element 6",
        [(np.int64(x), np.int64(2 * x)) for x in range(6)],
    )
    fails(lambda: stream().batch(4).unbatch().map(fail_at(6)), UserFunctionError, "row 2 of", doubled(range(6)))
    fails(lambda: numbers().map(fail_at(6)).cache(), UserFunctionError, "element 6", doubled(range(6)))
    fails(lambda: stream().map(fail_at(6)).cache(), UserFunctionError, "element 6", doubled(range(6)))
    order = [int(x) for x in numbers().map(double).shuffle(seed=1).iterator(epoch=0)]
    shuffled = [np.int64(x) for x in order[: order.index(12)]]
    fails(lambda: numbers().map(fail_at(6)).shuffle(seed=1), UserFunctionError, "element 6", shuffled)
    order = [int(x) for x in numbers().map(double).cache().shuffle(seed=1).iterator(epoch=0)]
    cached = [np.int64(x) for x in order[: order.index(12)]]
    fails(lambda: numbers().map(fail_at(6)).cache().shuffle(seed=1), UserFunctionError, "element 6", cached)


def test_take_that_ends_before_the_failure_never_sees_it() -> None:
    for options in WAYS:
        for source in (numbers, stream):
            elements, error = run(source().map(fail_at(6)).take(6), options)
            assert (len(elements), error) == (6, None)
            elements, error = run(Dataset.zip(source(6), stream().map(fail_at(6))), options)
            assert (len(elements), error) == (6, None)


def test_skipped_elements_are_counted_located_and_told() -> None:
    for source in (numbers, stream):
        dataset = source().map(fail_at(9), on_error="skip").batch(5)
        for options in WAYS:
            with dataset.with_options(options).iterator() as iterator:
                assert sum(map(len, iterator)) == 22
                (skipped,) = iterator.skipped
            assert "element 9 of" in skipped.origin
            assert "test_errors.py" in skipped.verb
            assert skipped.error == "KeyError: 'missing'"
            assert 'raise KeyError("missing")' in skipped.traceback
            assert iterator.stats().skipped == 1


def test_skipping_then_failing_keeps_the_places_of_the_rest() -> None:
    def draw(x: Any, rng: ps.Rng) -> tuple[Any, float]:
        return x, rng.random()

    def odd_or_big(x: Any) -> Any:
        if x % 2:
            raise ValueError("odd")
        return x

    every = dict(map(tuple, numbers().random_map(draw, seed=1).iterator(epoch=0)))
    for options in WAYS:
        dataset = Dataset.from_generator(breaks_after(9), output_signature=Spec((), np.int64))
        elements, error = run(dataset.map(odd_or_big, on_error="skip").random_map(draw, seed=1), options)
        assert isinstance(error, SourceError)
        expected, _ = run(
            Dataset.from_generator(breaks_after(9), output_signature=Spec((), np.int64))
            .map(odd_or_big, on_error="skip")
            .random_map(draw, seed=1),
            WAYS[1],
        )
        assert_same_elements(elements, expected)
    assert len(every) == 23


def breaks_after(count: int) -> Callable[[], Iterator[int]]:
    def generate() -> Iterator[int]:
        yield from range(count)
        raise OSError("unplugged")

    return generate


def _filtered_by_a_number(bad: int) -> Dataset:
    return numbers().filter(lambda x: x if x == bad else True)


def test_predicate_that_raises_or_gives_no_bool() -> None:
    fails(
        lambda: numbers().filter(lambda x: 1 // (x - 4) is not None),
        UserFunctionError,
        rf"filter at .*{HERE}.*predicate",
        [np.int64(x) for x in range(4)],
    )
    for bad in (0, 3):  # the first of all is followed, in its block, by others of another dtype
        fails(
            partial(_filtered_by_a_number, bad),
            StructureError,
            rf"filter at .*{HERE}.*one bool",
            [np.int64(x) for x in range(bad)],
        )


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        (lambda x: float(x), "float64.*expected int64"),
        (lambda x: (x, x), "expected leaf|expected int64"),
        (lambda x: {"a": x}, "expected leaf|expected int64"),
        (lambda x: np.array([x]), r"int64\[1\].*expected int64"),
        (lambda x: "text", "str.*expected int64"),
        (lambda x: np.int32(x), "int32.*expected int64"),
    ],
)
def test_map_whose_results_change(odd: Callable[[Any], Any], text: str) -> None:
    def fifth_is_odd(x: Any) -> Any:
        return odd(x) if x == 5 else x

    for source in (numbers, stream):
        before = [np.int64(x) for x in range(5)]
        error = fails(lambda source=source: source().map(fifth_is_odd), StructureError, text, before)
        assert "element 5" in str(error)
        assert "test_errors.py" in str(error)
        assert isinstance(error, ValueError)


def test_map_whose_nest_changes() -> None:
    before = [{"a": np.int64(x), "b": (np.int64(x), np.float64(0.5))} for x in range(5)]

    def make(odd: Any) -> Dataset:
        return numbers().map(lambda x: odd if x == 5 else {"a": x, "b": (x, 0.5)})

    for odd in ({"a": 1}, {"a": 1, "c": (1, 0.5)}, (1, 2), {"a": 1, "b": (1, 0.5, 2)}, {"a": 1, "b": [1, 2]}, 7):
        fails(lambda odd=odd: make(odd), StructureError, "element 5", before)
    for odd in ({"a": 1, "b": (1, None)}, {"a": object(), "b": (1, 0.5)}):
        fails(lambda odd=odd: make(odd), UnsupportedValueError, "element 5", before)
    fails(lambda: make({"b": (1, 0.5), "a": 1.5}), StructureError, 'leaf "a"', before)


def test_map_whose_results_change_in_a_batch() -> None:
    for bad in (2, 5, 7):
        for odd in (0.5, (1, 2), {"a": 1}, "text"):
            whole = [np.arange(start, start + 4) for start in range(0, bad - 3, 4)]
            fails(
                lambda bad=bad, odd=odd: numbers().map(lambda x: odd if x == bad else x).batch(4),
                StructureError,
                f"element {bad}",
                whole,
            )


def test_function_that_returns_nothing() -> None:
    error = fails(lambda: numbers().map(lambda x: None), UnsupportedValueError, "a leaf is None", [])
    assert "element 0" in str(error)
    assert isinstance(error, TypeError)


def test_function_that_breaks_its_signature() -> None:
    def make() -> Dataset:
        return numbers().map(lambda x: np.zeros(2 if x == 5 else 3), output_signature=Spec((3,), np.float64))

    fails(
        make, StructureError, r"element 5.*breaks the output_signature.*\[2\].*expected float64\[3\]", [np.zeros(3)] * 5
    )


# --- leaves that cannot be stacked ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 700])
@pytest.mark.parametrize("source", [numbers, stream])
def test_rows_of_unequal_shape(source: Callable[[], Dataset], size: int) -> None:
    def make() -> Dataset:
        def rows(x: Any) -> dict[str, Any]:
            return {"n": x, "image": np.full((size + (x == 9), 2), 0.5)}

        return source().map(rows).batch(4)

    for options in WAYS:
        elements, error = run(make(), options)
        assert type(error) is StackError, options
        assert len(elements) == 2
        assert f'leaf "image" has shape ({size + 1}, 2) at element 9' in str(error), (options, str(error))
        assert f"expected ({size}, 2)" in str(error)
        assert "batch at" in str(error)
        assert "test_errors.py" in str(error)


@pytest.mark.parametrize("size", [3, 700])
def test_odd_first_row_is_what_the_others_are_held_to(size: int) -> None:
    for options in WAYS:
        _, error = run(numbers(8).map(lambda x: np.zeros(size + (x == 0))).batch(8), options)
        assert type(error) is StackError
        assert f"has shape ({size},) at element 1" in str(error), (options, str(error))
        assert f"expected ({size + 1},)" in str(error), (options, str(error))


def test_last_short_batch_in_a_batch_of_batches() -> None:
    fails(lambda: numbers(10).batch(3).batch(2), StackError, r"shape \(1,\)", [np.arange(6).reshape(2, 3)])


def test_unbatch_of_what_has_no_rows() -> None:
    fails(lambda: numbers().unbatch(), StructureError, rf"unbatch at .*{HERE}.*scalar", [])
    unequal = [{"a": np.zeros(2), "b": np.zeros(2)}, {"a": np.zeros(2), "b": np.zeros(3)}]
    fails(
        lambda: Dataset.from_source(unequal).unbatch(),
        StructureError,
        "a: 2, b: 3",
        [{"a": np.float64(0), "b": np.float64(0)}] * 2,
    )


# --- sources ----------------------------------------------------------------------------------------------------------


def test_generator_that_raises() -> None:
    make = lambda: Dataset.from_generator(breaks_after(7), output_signature=Spec((), np.int64))  # noqa: E731
    error = fails(
        make,
        SourceError,
        rf"from_generator at .*{HERE}, element 7.*OSError: unplugged",
        [np.int64(x) for x in range(7)],
    )
    assert isinstance(error.__cause__, OSError)


@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        (0.5, StructureError),
        ((1, 2), StructureError),
        (np.zeros(3), StructureError),
        (None, UnsupportedValueError),
        ("x", StructureError),
    ],
)
def test_generator_that_breaks_its_signature(odd: Any, kind: type[PenstockError]) -> None:
    def generate() -> Iterator[Any]:
        yield from (0, 1, 2, odd, 4)

    make = lambda: Dataset.from_generator(generate, output_signature=Spec((), np.int64))  # noqa: E731
    fails(make, kind, "element 3 of from_generator", [np.int64(x) for x in range(3)])


def test_generator_that_is_none() -> None:
    with pytest.raises(InvalidArgumentError, match="pass the function"):
        Dataset.from_generator(iter([1]), output_signature=Spec((), np.int64))  # type: ignore[arg-type]
    fails(
        lambda: Dataset.from_generator(lambda: 3, output_signature=Spec((), np.int64)), SourceError, "not iterable", []
    )
    with pytest.raises(InvalidArgumentError, match="signature"):
        Dataset.from_generator(list, output_signature={"a": 3})


class Failing(Squares):
    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == 9:
            raise OSError("bad sector")
        return super().__getitem__(index)


class FailingFetched(Failing, Fetched):
    pass


@pytest.mark.parametrize("kind", [Failing, FailingFetched])
def test_source_that_raises(kind: type) -> None:
    before = [{"n": np.int64(n), "row": np.arange(3) * n * n} for n in range(9)]
    error = fails(
        lambda: Dataset.from_source(kind()), SourceError, rf"element 9 of from_source at .*{HERE}.*bad sector", before
    )
    assert isinstance(error.__cause__, OSError)
    order = [int(e["n"]) for e in Dataset.from_source(Squares()).shuffle(seed=3).iterator(epoch=0)]
    shuffled = [{"n": np.int64(n), "row": np.arange(3) * n * n} for n in order[: order.index(9)]]
    fails(lambda: Dataset.from_source(kind()).shuffle(seed=3), SourceError, "element 9", shuffled)


def test_source_that_returns_too_few() -> None:
    class Short(Squares):
        def __getitems__(self, indices: list[int]) -> list[Any]:
            return [self[index] for index in indices][:-1]

    _, error = run(Dataset.from_source(Short()))
    assert isinstance(error, SourceError)
    assert "__getitems__ returned" in str(error)


def test_source_that_is_none() -> None:
    with pytest.raises(InvalidArgumentError, match=rf"{HERE}.*without __len__ and __getitem__"):
        Dataset.from_source(iter([1]))


@pytest.mark.parametrize(
    ("tensors", "kind", "text"),
    [
        (5, UnsupportedValueError, "cannot be sliced"),
        ({"a": [1, 2], "b": 3}, UnsupportedValueError, 'leaf "b"'),
        (([1, 2], [1, 2, 3]), StructureError, "different length.*0.*2.*1.*3"),
        ([1, None], UnsupportedValueError, "objects"),
        ([1, "a"], UnsupportedValueError, "int.*str"),
        ([b"a", "a"], UnsupportedValueError, "bytes.*str"),
        ([[1, 2], [3]], StackError, "cannot be stacked"),
        ({}, UnsupportedValueError, "empty structure"),
        (None, UnsupportedValueError, "None"),
        ({"a": None}, UnsupportedValueError, "None"),
        ([object()], UnsupportedValueError, "object"),
    ],
)
def test_tensors_that_are_none(tensors: Any, kind: type, text: str) -> None:
    import re

    with pytest.raises(kind) as caught:
        Dataset.from_tensor_slices(tensors)
    assert re.search(text, str(caught.value)), str(caught.value)


def test_datasets_of_different_elements() -> None:
    with pytest.raises(StructureError, match=rf"{HERE}.*concatenate") as caught:
        numbers().concatenate(wide())
    assert caught.value.got == "float64[700]"
    assert caught.value.expected == "int64[]"
    for odd in (lambda x: x * 0.5, lambda x: (x, x), lambda x: {"a": x}, lambda x: "text", lambda x: (x,)):
        for source in (numbers, stream):
            fails(
                lambda odd=odd, source=source: source(5).map(double).concatenate(source(4).map(odd)),
                StructureError,
                rf"concatenate at .*{HERE}",
                [np.int64(2 * x) for x in range(5)],
            )


def test_zip_of_no_datasets() -> None:
    for wrong in ((3,), (numbers(), [1]), ({"a": numbers(), "b": 1},)):
        with pytest.raises(InvalidArgumentError, match=HERE):
            Dataset.zip(*wrong)


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda ds: ds.batch(0), "batch: batch_size"),
        (lambda ds: ds.batch(-3), "batch: batch_size"),
        (lambda ds: ds.batch(2.5), "batch: batch_size"),
        (lambda ds: ds.batch(True), "batch: batch_size"),
        (lambda ds: ds.batch(None), "batch: batch_size"),
        (lambda ds: ds.shuffle(0), "shuffle: buffer_size"),
        (lambda ds: ds.shuffle(-2), "shuffle: buffer_size"),
        (lambda ds: ds.shuffle(5, seed="x"), "shuffle: seed"),
        (lambda ds: ds.shard(0, 0), "shard: num_shards"),
        (lambda ds: ds.shard(-1, 0), "shard: num_shards"),
        (lambda ds: ds.shard(3, 3), "shard: index"),
        (lambda ds: ds.shard(3, -1), "shard: index"),
        (lambda ds: ds.repeat(-2), "repeat: count"),
        (lambda ds: ds.take(-2), "take: count"),
        (lambda ds: ds.take("3"), "take: count"),
        (lambda ds: ds.skip(-2), "skip: count"),
        (lambda ds: ds.prefetch(-2), "prefetch: buffer_size"),
        (lambda ds: ds.enumerate("a"), "enumerate: start"),
        (lambda ds: ds.map(3), "map: map_func"),
        (lambda ds: ds.map(double, num_parallel_calls=0), "map: num_parallel_calls"),
        (lambda ds: ds.map(double, executor="gpu"), "map: executor"),
        (lambda ds: ds.map(double, on_error="ignore"), "map: on_error"),
        (lambda ds: ds.random_map(None), "random_map: map_func"),
        (lambda ds: ds.filter(None), "filter: predicate"),
        (lambda ds: ds.concatenate([1]), "concatenate"),
        (lambda ds: ds.with_options({"seed": 1}), "with_options"),
        (lambda ds: ds.apply(lambda inner: 3), "apply"),
        (lambda ds: ds.iterator(epoch=-1), "iterator: epoch"),
        (lambda ds: Options(block_size=0), "Options: block_size"),
        (lambda ds: Options(cpu_budget=0), "Options: cpu_budget"),
        (lambda ds: Options(executor="gpu"), "Options: executor"),
        (lambda ds: Options(seed="random"), "Options: seed"),
        (lambda ds: list(ds.with_options(Options(skip_rules=frozenset(["no_such_rule"])))), "Options: skip_rules"),
        (lambda ds: Dataset.range(), "range"),
        (lambda ds: Dataset.range(1, 2, 0), "range: step"),
        (lambda ds: Dataset(), "Dataset"),
        (lambda ds: ds["a"], r"dataset\[i\]"),
    ],
)
def test_argument_out_of_range(call: Callable[[Dataset], Any], named: str) -> None:
    with pytest.raises(InvalidArgumentError, match=named) as caught:
        call(numbers())
    assert isinstance(caught.value, ValueError)


def test_where_of_a_bad_argument_is_the_users_line() -> None:
    with pytest.raises(InvalidArgumentError, match=HERE) as caught:
        numbers().map(double).batch(0)
    assert caught.value.expected == "an integer >= 1"
    assert caught.value.got == "0"


def test_indexing_names_the_first_verb_that_prevents_it() -> None:
    with pytest.raises(NotIndexableError, match=rf"filter at .*{HERE}"):
        _ = numbers().filter(is_even).map(double).batch(3)[0]
    assert issubclass(NotIndexableError, TypeError)


def test_two_iterators_fail_apart() -> None:
    dataset = numbers().map(fail_at(6))
    with dataset.iterator(epoch=0) as one:
        next(one)
        _, error = run(dataset)
        assert isinstance(error, UserFunctionError)
        assert next(one) == 2


def test_error_of_a_function_reaches_every_epoch() -> None:
    dataset = numbers().map(fail_at(6))
    for _ in range(3):
        elements, error = run(dataset)
        assert len(elements) == 6
        assert isinstance(error, UserFunctionError)
