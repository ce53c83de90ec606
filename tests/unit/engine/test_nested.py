"""Nested datasets: what their elements are, how they fail, how they end, and that they cost no thread and no memory."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options, Spec
from penstock.errors import StackError, StructureError, UserFunctionError
from penstock.testing import assert_same_elements, collect


def values(dataset: Dataset, epoch: int = 0) -> list[Any]:
    return [np.asarray(element).tolist() for element in collect(dataset, epoch)]


def drawn(dataset: Dataset) -> Dataset:
    return dataset.random_map(lambda x, rng: rng.integers(10**9))


# --- order ------------------------------------------------------------------------------------------------------------


def test_interleave_passes_the_turn_on_at_the_end_of_a_dataset() -> None:
    dataset = Dataset.range(7).interleave(lambda x: Dataset.range(x * 10, x * 10 + x % 4), 5, 2)
    assert values(dataset) == [10, 20, 21, 30, 31, 50, 60, 61, 32]  # as tf.data


@pytest.mark.parametrize("lengths", [[5, 5, 5], [1, 9, 4], [0, 3, 0, 8], [100, 2, 50, 7, 31]])
@pytest.mark.parametrize("cycle", [1, 2, 3, 8])
@pytest.mark.parametrize("block", [1, 2, 5])
def test_interleave_is_its_slow_twin(lengths: list[int], cycle: int, block: int) -> None:
    dataset = Dataset.from_tensor_slices(np.array(lengths)).enumerate()
    dataset = dataset.interleave(lambda n, length: Dataset.range(n * 1000, n * 1000 + length), cycle, block)
    children = [list(range(n * 1000, n * 1000 + length)) for n, length in enumerate(lengths)]
    assert values(dataset) == twin(children, cycle, block)


def twin(children: list[list[int]], cycle: int, block: int) -> list[int]:
    """InterleaveDataset::GetNextInternal, one element at a time."""
    slots: list[list[int] | None] = [None] * cycle
    waiting, out, place, turn = list(children), [], 0, 0
    while waiting or any(slot is not None for slot in slots):
        slot = slots[place]
        if slot is not None and slot:
            out.append(slot[0])
            slots[place] = slot[1:]
            turn += 1
            if turn < block:
                continue
        elif slot is not None:
            slots[place] = None
        elif waiting:
            slots[place] = waiting.pop(0)
            continue
        turn, place = 0, (place + 1) % cycle
    return out


class Gate:
    """Lets no one through before `count` have come: shows how many are read at a time, without waiting for time."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count)

    def child(self, n: Any) -> Dataset:
        def generate() -> Iterator[int]:
            self.barrier.wait(30)
            yield from range(int(n) * 10, int(n) * 10 + 3)

        return Dataset.from_generator(generate, output_signature=Spec((), np.int64))


def test_parallel_interleave_reads_as_many_at_a_time_as_asked_for_in_order() -> None:
    gate = Gate(4)
    dataset = Dataset.range(8).interleave(gate.child, 4, num_parallel_calls=4)
    expected = [n * 10 + i for first in (0, 4) for i in range(3) for n in range(first, first + 4)]
    assert values(dataset) == expected


def test_parallel_interleave_opens_ahead_of_a_cycle_of_one() -> None:
    gate = Gate(3)
    dataset = Dataset.range(6).interleave(gate.child, 1, num_parallel_calls=3)
    assert values(dataset) == [n * 10 + i for n in range(6) for i in range(3)]


@pytest.mark.parametrize("executor", ["threads", "inline"])
@pytest.mark.parametrize("make", [lambda n: Dataset.range(n * 10, n * 10 + n % 5), lambda n: Dataset.range(2000)])
def test_unordered_interleave_gives_each_element_once(make: Any, executor: Any) -> None:
    dataset = Dataset.range(20).interleave(make, 4, num_parallel_calls=3, deterministic=False)
    expected = values(Dataset.range(20).interleave(make, 4))
    got = values(dataset.with_options(Options(executor=executor)))
    assert sorted(got) == sorted(expected)


@pytest.mark.parametrize("deterministic", [True, False])
def test_parallel_interleave_tells_errors_of_input_function_and_child(deterministic: bool) -> None:
    options = {"num_parallel_calls": 3, "deterministic": deterministic}
    tens = lambda n: Dataset.range(n * 10, n * 10 + 2)  # noqa: E731
    _, error = until_failure(Dataset.range(9).map(fails_at(5)).interleave(tens, 2, **options))
    assert isinstance(error.__cause__, KeyError)
    _, error = until_failure(Dataset.range(9).interleave(lambda n: tens(fails_at(5)(n)), 2, **options))
    assert "element 5 of range" in str(error)
    got, error = until_failure(Dataset.range(9).interleave(lambda n: tens(n).map(fails_at(41)), 2, **options))
    assert "element 4 of range" in str(error)
    if deterministic:
        assert got == values(Dataset.range(9).interleave(tens, 2))[: len(got)]
        assert 40 in got


@pytest.mark.parametrize("deterministic", [True, False])
def test_closing_a_parallel_interleave_ends_its_generators(deterministic: bool) -> None:
    ended: list[int] = []
    dataset = Dataset.range(9).interleave(
        lambda n: recorded(ended, n, 5000), 3, num_parallel_calls=2, deterministic=deterministic
    )
    with dataset.iterator() as iterator:
        next(iterator)
    assert {0} <= set(ended) <= set(range(9))
    assert len(ended) == len(set(ended))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("penstock")]


# --- what a window is -------------------------------------------------------------------------------------------------


def test_window_of_a_nest_is_a_nest_of_datasets() -> None:
    window = Dataset.from_tensor_slices({"a": np.arange(4), "b": (np.ones((4, 2)), list("wxyz"))}).window(3).peek()
    assert values(window["a"]) == [0, 1, 2]
    assert window["b"][0].element_spec == Spec((2,), np.float64)
    assert list(window["b"][1]) == ["w", "x", "y"]


def test_window_can_be_kept_and_iterated_later_again_and_in_part() -> None:
    windows = list(Dataset.range(10).window(4, 3))
    for _ in range(2):
        assert [values(window) for window in windows] == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9], [9]]
    assert next(iter(windows[1])) == 3
    assert len(windows[3]) == 1


def test_rows_of_a_window_are_read_only() -> None:
    window = Dataset.from_tensor_slices(np.zeros((6, 2))).map(lambda x: x + 1).window(3, 1).peek()
    with pytest.raises(ValueError, match="read-only"):
        next(iter(window))[0] = 5


def test_window_is_iterated_in_a_function_without_threads() -> None:
    seen: set[int] = set()

    def total(window: Dataset) -> int:
        result = sum(int(x) for x in window.map(lambda x: x + 1).batch(2).unbatch())
        seen.add(threading.active_count())
        return result

    before = threading.active_count()
    dataset = Dataset.range(40).window(4).map(total).with_options(Options(executor="inline"))
    assert values(dataset) == [sum(range(n + 1, n + 5)) for n in range(0, 40, 4)]
    assert seen == {before}


def test_windows_cannot_be_batched() -> None:
    for dataset in (Dataset.range(4).window(2).batch(2), Dataset.range(4).map(Dataset.range).batch(2)):
        with pytest.raises(StackError, match=r"a dataset cannot be stacked.*flat_map"):
            list(dataset)


def test_windows_hold_no_more_than_they_cover() -> None:
    tracemalloc.start()
    try:
        last = None
        for window in Dataset.range(200_000).window(10, 5):
            last = window
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert last is not None
    assert peak < 5 * 2**20


# --- randomness and origins -------------------------------------------------------------------------------------------


def test_each_child_draws_its_own_and_each_epoch_anew() -> None:
    dataset = Dataset.range(6).flat_map(lambda n: drawn(Dataset.range(4)))
    first, again, next_epoch = values(dataset), values(dataset), values(dataset, 1)
    assert first == again
    assert len({*first, *next_epoch}) == 48


def test_a_child_draws_the_same_wherever_its_parent_comes() -> None:
    plain = Dataset.range(6).map(lambda n: n)
    make = lambda ds: ds.flat_map(lambda n: drawn(Dataset.range(n + 1)))  # noqa: E731
    there, shuffled = values(make(plain)), values(make(plain.shuffle(6, seed=1)))
    assert sorted(there) != there
    assert len(there) == len(shuffled) == 21


def test_elements_of_a_child_differ_in_what_is_drawn_above() -> None:
    dataset = drawn(Dataset.range(8).interleave(lambda n: Dataset.range(5), 3))
    assert len(set(values(dataset))) == 40


# --- failures ---------------------------------------------------------------------------------------------------------


def until_failure(dataset: Dataset) -> tuple[list[Any], BaseException]:
    got: list[Any] = []
    with dataset.iterator(epoch=0) as iterator, pytest.raises(Exception) as caught:  # noqa: PT011
        got.extend(np.asarray(element).tolist() for element in iterator)
    return got, caught.value


def fails_at(number: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if x == number:
            raise KeyError(int(x))
        return x

    return function


@pytest.mark.parametrize("block_size", [1, 3, None])
def test_error_in_a_child_names_both_places_after_what_came_before(block_size: int | None) -> None:
    dataset = Dataset.range(5).flat_map(lambda n: Dataset.range(n * 10, n * 10 + 3).map(fails_at(21)))
    got, error = until_failure(dataset.with_options(Options(block_size=block_size)))
    assert got == [0, 1, 2, 10, 11, 12, 20]
    assert isinstance(error, UserFunctionError)
    assert isinstance(error.__cause__, KeyError)
    assert str(error).count("test_nested.py") == 4
    for part in ("flat_map at", "element 2 of range at", "map at", "element 1 of range at"):
        assert part in str(error)


def test_error_of_the_function_names_the_element() -> None:
    got, error = until_failure(Dataset.range(5).interleave(lambda n: Dataset.range(fails_at(3)(n)), 2))
    assert isinstance(error, UserFunctionError)
    assert "interleave at" in str(error)
    assert "element 3 of range" in str(error)
    assert got == [0, 0, 1]


def test_error_of_the_input_comes_after_what_its_elements_gave() -> None:
    dataset = Dataset.range(5).map(fails_at(3)).flat_map(lambda n: Dataset.range(n * 10, n * 10 + 2))
    got, error = until_failure(dataset)
    assert got == [0, 1, 10, 11, 20, 21]
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize("returned", [3, None, np.arange(3), [1, 2], "text"])
def test_function_that_returns_no_dataset_is_told_with_its_line(returned: Any) -> None:
    _, error = until_failure(Dataset.range(3).interleave(lambda n: returned))
    assert isinstance(error, StructureError)
    assert "returned no dataset" in str(error)
    assert "interleave at" in str(error)
    assert "test_nested.py" in str(error)


def test_children_of_different_elements_are_refused() -> None:
    got, error = until_failure(
        Dataset.range(3).flat_map(lambda n: Dataset.range(2) if n < 2 else Dataset.from_tensors(("a", 1)))
    )
    assert got == [0, 1, 0, 1]
    assert isinstance(error, StructureError)
    assert "opened for element 2" in str(error)


def test_skipped_elements_of_children_are_told() -> None:
    dataset = Dataset.range(4).flat_map(lambda n: Dataset.range(3).map(fails_at(1), on_error="skip"))
    with dataset.iterator() as iterator:
        assert [int(x) for x in iterator] == [0, 2] * 4
        assert len(iterator.skipped) == 4


# --- ending -----------------------------------------------------------------------------------------------------------


def recorded(ended: list[int], number: int, count: int = 10**9) -> Dataset:
    """A generator that says when it is ended."""

    def generate() -> Iterator[int]:
        try:
            yield from range(count)
        finally:
            ended.append(int(number))

    return Dataset.from_generator(generate, output_signature=Spec((), np.int64))


@pytest.mark.parametrize("executor", ["threads", "inline"])
def test_closing_ends_the_generators_of_open_children(executor: Any) -> None:
    ended: list[int] = []
    dataset = Dataset.range(9).interleave(lambda n: recorded(ended, n), 4)
    with dataset.with_options(Options(executor=executor)).iterator() as iterator:
        assert [int(next(iterator)) for _ in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert sorted(ended) == [0, 1, 2, 3]


def test_take_ends_the_generators_of_open_children() -> None:
    ended: list[int] = []
    assert len(values(Dataset.range(9).interleave(lambda n: recorded(ended, n), 3).take(5))) == 5
    assert sorted(ended) == [0, 1, 2]


def test_each_generator_is_ended_when_its_child_is() -> None:
    ended: list[int] = []
    assert len(values(Dataset.range(4).flat_map(lambda n: recorded(ended, n, 3)))) == 12
    assert ended == [0, 1, 2, 3]


def test_function_is_called_when_its_turn_comes() -> None:
    called: list[int] = []

    def child(n: Any) -> Dataset:
        called.append(int(n))
        return Dataset.range(10**9)

    with Dataset.range(100).flat_map(child).iterator() as iterator:
        next(iterator)
    assert called == [0]


# --- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Dataset.range(n).interleave(lambda i: Dataset.from_tensor_slices(np.zeros((8, 64))), 16),
        lambda n: Dataset.range(n * 10).window(10).flat_map(lambda w: w.batch(10)),
        lambda n: Dataset.range(n).flat_map(lambda i: Dataset.range(i, i + 5).map(lambda x: x * 2).shuffle(3)),
    ],
    ids=["interleave", "windows", "flat_map"],
)
def test_many_children_are_as_flat_as_few(make: Callable[[int], Dataset]) -> None:
    def peak(count: int) -> tuple[int, int]:
        threads = 0
        tracemalloc.start()
        try:
            for _ in make(count):
                threads = max(threads, threading.active_count())
            return tracemalloc.get_traced_memory()[1], threads
        finally:
            tracemalloc.stop()

    peak(50)
    few, many = peak(200), peak(1000)
    assert many[1] <= few[1]
    assert many[0] < 1.5 * few[0] + 2**20


def test_functions_of_children_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.engine.operators import compiled

    traced: list[object] = []
    original = compiled.trace
    monkeypatch.setattr(compiled, "trace", lambda *args: traced.append(0) or original(*args))
    dataset = Dataset.range(50).flat_map(lambda n: Dataset.range(3).map(lambda x: x * 2))
    assert values(dataset) == [0, 2, 4] * 50
    assert len(traced) == 1


def test_child_functions_that_differ_are_not_mixed_up() -> None:
    dataset = Dataset.range(50).flat_map(lambda n: Dataset.range(2).map(lambda x: x + n))
    assert values(dataset) == [x + n for n in range(50) for x in range(2)]


def test_block_sizes_change_nothing() -> None:
    make = lambda: Dataset.range(30).interleave(lambda n: Dataset.range(n % 7).shuffle(), 4, 2)  # noqa: E731
    twin_elements = collect(make().with_options(Options(block_size=1, executor="inline")))
    for size in (2, 5, 1000, None):
        assert_same_elements(collect(make().with_options(Options(block_size=size))), twin_elements, f"{size}")


def test_interleave_of_named_constants() -> None:
    assert ps.AUTOTUNE == -1
    assert values(Dataset.range(3).interleave(lambda n: Dataset.range(2), ps.AUTOTUNE)) == [0, 0, 0, 1, 1, 1]
