from __future__ import annotations

import builtins
import copy
import inspect
import os
import pickle
from pathlib import Path

import pytest

from penstock import errors
from penstock.errors import Location, PenstockError, PenstockWarning, StackError, user_location, warn_user

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PenstockError)]
per_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@per_kind
def test_error_is_also_the_built_in_that_callers_catch(kind: type[PenstockError]) -> None:
    built_in = [base for base in kind.__mro__ if base.__module__ == "builtins" and base not in (object, BaseException)]
    assert kind is PenstockError or any(base not in (Exception,) for base in built_in)


@per_kind
def test_error_says_what_got_expected_where_and_remedy(kind: type[PenstockError]) -> None:
    error = kind("batch size", got=0, expected="an integer >= 1", where="a.py:3", remedy="use 1")
    assert str(error) == "a.py:3: batch size; got 0, expected an integer >= 1; use 1"
    assert (error.what, error.got, error.expected, error.where, error.remedy) == (
        "batch size", 0, "an integer >= 1", "a.py:3", "use 1",
    )  # fmt: skip


@per_kind
def test_error_survives_pickling(kind: type[PenstockError]) -> None:
    error = kind("what", got=(1, 2), expected="3", where="b.py:1")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.got) == (str(error), error.got)


@per_kind
def test_error_survives_copying(kind: type[PenstockError]) -> None:
    error = kind("what", remedy="do this")
    assert str(copy.copy(error)) == str(error)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({}, "what"),
        ({"got": 1}, "what; got 1"),
        ({"expected": "2"}, "what; expected 2"),
        ({"remedy": "do"}, "what; do"),
        ({"where": "here", "got": 0}, "here: what; got 0"),
    ],
)
def test_error_leaves_out_what_was_not_said(parts: dict[str, object], text: str) -> None:
    assert str(PenstockError("what", **parts)) == text  # type: ignore[arg-type]  # parts are keywords


def test_at_puts_the_place_in_front() -> None:
    error = StackError("shapes differ", where="element 3")
    located = error.at("batch at a.py:1")
    assert isinstance(located, StackError)
    assert str(located) == "batch at a.py:1: element 3: shapes differ"
    assert str(error) == "element 3: shapes differ"


def test_error_text_follows_its_attributes() -> None:
    error = PenstockError("what", got=1)
    error.got = 2
    assert str(error) == "what; got 2"


def test_location_is_relative_below_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(Location(str(tmp_path / "train.py"), 3)) == f"train.py:{3}"
    assert str(Location(os.path.join(os.sep, "elsewhere", "train.py"), 3)) == "/elsewhere/train.py:3"


def test_location_of_a_notebook_cell_is_kept() -> None:
    assert str(Location("<ipython-input-3>", 7)) == "<ipython-input-3>:7"


def test_a_location_of_no_line_is_its_name() -> None:
    assert str(Location("the command line", 0)) == "the command line"


def test_a_warning_stands_at_the_line_it_is_about() -> None:
    with pytest.warns(PenstockWarning, match="less well") as told:
        warn_user("less well", Location(__file__, 7))
    assert (told[0].filename, told[0].lineno) == (__file__, 7)


def test_user_location_is_the_line_that_called() -> None:
    here = inspect.currentframe()
    assert here is not None
    location = user_location()
    assert (location.file, location.line) == (__file__, here.f_lineno - 1)


def test_no_error_hides_a_built_in() -> None:
    assert not {kind.__name__ for kind in KINDS} & set(vars(builtins))
