from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError
from penstock.options import AutotuneOptions, Options, ThreadingOptions, require_integer


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("cpu_budget", 0, "an integer >= 1 or None"),
        ("cpu_budget", 1.5, "an integer >= 1 or None"),
        ("cpu_budget", True, "an integer >= 1 or None"),
        ("block_size", -1, "an integer >= 1 or None"),
        ("ram_budget", "lots", "an integer >= 0"),
        ("ram_budget", -1, "an integer >= 0"),
        ("cache_budget", 1.5, "an integer >= 0"),
        ("executor", "gpu", '"inline"'),
        ("seed", "random", 'an integer or "entropy"'),
    ],
)
def test_options_refuse_a_bad_value(field: str, value: Any, expected: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Options(**{field: value})
    assert caught.value.got == repr(value)
    assert expected in caught.value.expected


def test_options_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().seed = 3  # type: ignore[misc]  # what is tested


def test_options_take_keywords_only() -> None:
    with pytest.raises(TypeError):
        Options(3)  # type: ignore[misc]  # what is tested


def test_options_say_nothing_unless_told() -> None:
    assert all(getattr(Options(), field.name) is None for field in dataclasses.fields(Options))


def test_skip_rules_become_a_frozen_set() -> None:
    assert Options(skip_rules=["a", "a"]).skip_rules == frozenset({"a"})  # type: ignore[arg-type]  # any collection is taken


def test_merged_takes_the_later_word_field_by_field() -> None:
    merged = Options(seed=1, cpu_budget=2).merged(Options(seed=5, executor="inline"))
    assert merged == Options(seed=5, cpu_budget=2, executor="inline")


def test_merged_lets_false_win_over_true() -> None:
    assert Options(deterministic=True).merged(Options(deterministic=False)).deterministic is False


def test_merged_keeps_what_nothing_was_said_about() -> None:
    options = Options(seed=1, ram_budget="1 GiB", deterministic=False)
    assert options.merged(Options()) == options


def test_autotune_is_that_of_tf_data() -> None:
    assert ps.AUTOTUNE == -1


@pytest.mark.parametrize("value", [0, 5, np.int32(5), np.array(5)])
def test_require_integer_gives_a_python_int(value: Any) -> None:
    number = require_integer("verb", "name", value)
    assert number == value
    assert type(number) is int


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1], np.float64(1)])
def test_require_integer_refuses_what_is_none(value: Any) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        require_integer("take", "count", value, where="a.py:3")
    assert str(caught.value) == f"a.py:3: take: count; got {value!r}, expected an integer"


def test_require_integer_names_the_lowest_value() -> None:
    with pytest.raises(InvalidArgumentError, match=r"got -2, expected an integer >= -1$"):
        require_integer("take", "count", -2, minimum=-1)


def test_require_integer_takes_none_where_it_is_optional() -> None:
    assert require_integer("shuffle", "seed", None, optional=True) is None


def test_records_of_tf_data_say_what_options_say() -> None:
    options = Options(autotune=AutotuneOptions(cpu_budget=3, ram_budget="1 GiB"))
    assert (options.cpu_budget, options.ram_budget) == (3, "1 GiB")
    assert Options(threading=ThreadingOptions(private_threadpool_size=2)).cpu_budget == 2
    assert Options(threading=ThreadingOptions(private_threadpool_size=0)).cpu_budget is None
    assert Options(cpu_budget=1, autotune=AutotuneOptions(cpu_budget=3)).cpu_budget == 1


def test_later_records_win() -> None:
    first = Options(autotune=AutotuneOptions(cpu_budget=3))
    assert first.merged(Options(autotune=AutotuneOptions(cpu_budget=5))).cpu_budget == 5
    assert first.merged(Options(cpu_budget=4)).cpu_budget == 4


def test_tuning_may_be_turned_off() -> None:
    assert Options().tunes
    assert Options(autotune=AutotuneOptions()).tunes
    assert not Options(autotune=AutotuneOptions(enabled=False)).tunes


def test_another_record_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Options: autotune; got True, expected penstock\.AutotuneOptions"):
        Options(autotune=True)  # type: ignore[arg-type]  # what is tested
