"""Functions as values: what they read travels, and nothing is imported."""

from __future__ import annotations

import collections
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from penstock import Dataset
from penstock.engine.executors import by_value
from penstock.engine.executors.by_value import TooLargeError
from penstock.engine.executors.remote import NotPortableError, recipe_by_value
from penstock.trace.purity import impurity

_LOAD = """
import sys
from penstock.engine.executors.wire import node_of
function = node_of(sys.stdin.buffer.read()).function
print(repr(function(5)), "users_module" in sys.modules, "users_config" in sys.modules)
"""

_USERS = """
import collections, math, string, functools
import numpy as np
import users_config as config
Pair = collections.namedtuple("Pair", "left right")
SCALE = 3
WORDS = frozenset(["a", "b"])

def helper(x):
    return int(x) * config.SIZE * SCALE + math.floor(np.sqrt(config.deep.table[1]))

def scaled(x, by=functools.partial(helper)):
    return Pair(by(x), string.digits[:2]) if "a" in WORDS else None
"""


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Modules of a user's that print when they are imported, with values set since."""
    (tmp_path / "users_config.py").write_text(
        "print('imported')\nimport users_deep as deep\nSIZE = 1\nopened = open(__file__)\n"
    )
    (tmp_path / "users_deep.py").write_text("import numpy as np\ntable = np.array([1.0, 4.0])\n")
    (tmp_path / "users_module.py").write_text(_USERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import users_module  # type: ignore[import-not-found]  # written just now

    users_module.config.SIZE = 7
    yield users_module
    for name in ("users_module", "users_config", "users_deep"):
        sys.modules.pop(name, None)


def recipe(function: Any) -> bytes:
    return recipe_by_value(Dataset.range(9).map(function)._node)


def test_values_travel_as_they_are_now_and_nothing_is_imported(users: ModuleType, tmp_path: Path) -> None:
    assert impurity(users.scaled) is None
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)])}
    done = subprocess.run(
        [sys.executable, "-c", _LOAD], input=recipe(users.scaled), env=environment, capture_output=True, check=True
    )
    assert done.stdout.decode() == f"{users.scaled(5)!r} False False\n"
    assert users.scaled(5).left == 5 * 7 * 3 + 2


def test_recipe_follows_what_is_read(users: ModuleType) -> None:
    before = recipe(users.scaled)
    assert recipe(users.scaled) == before
    users.config.SIZE = 8
    assert recipe(users.scaled) != before


def ordered(x: int) -> list[str]:
    return [word for word in _WORDS] + [str(x)]  # noqa: C416  # the loop is the point


def asked(x: int) -> bool:
    return str(x) in _WORDS


_WORDS = frozenset(["a", "b"])


@pytest.mark.parametrize("function", [ordered, lambda x: frozenset([x]), lambda x: list({str(x), "a"})])
def test_order_of_sets_is_refused(function: Any) -> None:
    with pytest.raises(NotPortableError, match="order of a set"):
        recipe(function)


def test_membership_in_sets_is_not() -> None:
    assert recipe(asked)
    assert recipe(lambda x: x in {"a", "b"})


def test_large_captures_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_value, "LARGEST_BYTES", 1000)
    table = np.zeros(1000)
    with pytest.raises(TooLargeError, match="it reads more than 1000 B"):
        recipe(lambda x: table[int(x)])


def test_named_tuples_come_back_as_the_same_class(users: ModuleType) -> None:
    rows = collections.Counter(type(row) for row in Dataset.range(3).map(users.scaled, compile=False))
    assert rows == {users.Pair: 3}
