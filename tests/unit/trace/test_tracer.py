"""From functions to programs: what is recorded, what stops a trace and with which reason, what is never frozen."""

from __future__ import annotations

import datetime as dt
import os
import random
import time
from time import sleep as wait

import numpy as np
import pytest

import penstock as ps
from penstock.block.block import Block
from penstock.block.columns import ArrayColumn, BytesColumn, RowsColumn, object_array
from penstock.block.origin import SourceOrigins
from penstock.block.spec import STR
from penstock.block.tree import LEAF, tuple_of
from penstock.errors import NotCompiledError
from penstock.ops.program import Draw, Program
from penstock.trace.tracer import Call, Untraced, trace

ORIGINS = SourceOrigins(0, "source", np.arange(3))
IMAGES = np.arange(3 * 4 * 5 * 3, dtype=np.uint8).reshape(3, 4, 5, 3)
PAIRS = Block(tuple_of(LEAF, LEAF), (ArrayColumn(IMAGES), ArrayColumn(np.arange(3))), ORIGINS)
NUMBERS = Block(LEAF, (ArrayColumn(np.arange(3)),), ORIGINS)
TEXTS = Block(LEAF, (BytesColumn(object_array(["a", "b", "c"]), STR),), ORIGINS)
RAGGED = Block(LEAF, (RowsColumn([np.zeros((n, 2)) for n in (1, 2, 3)], np.dtype(float)),), ORIGINS)

SCALE = 2.0


def traced(function, block=NUMBERS):
    return trace([Call(function, key=7)], block, ORIGINS.ids)


def reason(function, block=NUMBERS):
    found = traced(function, block)
    assert isinstance(found, Untraced), str(found)
    return found.reason


def text(function, block=NUMBERS):
    found = traced(function, block)
    assert isinstance(found, Program), found
    return str(found)


def test_arithmetic_is_recorded_in_order():
    assert text(lambda x: (x * SCALE - 1) / 3) == (
        "%1 = np.multiply(%0, 2.0)\n%2 = np.subtract(%1, 1)\n%3 = np.divide(%2, 3)\nreturn %3"
    )


def test_reflected_operators_keep_their_sides():
    assert text(lambda x: 10 - x) == "%1 = np.subtract(10, %0)\nreturn %1"


def test_a_tuple_arrives_as_arguments_and_the_result_keeps_its_structure():
    found = traced(lambda image, label: {"x": image.astype("float32"), "y": (label, 1)}, PAIRS)
    assert str(found.structure) == "{'x': leaf, 'y': (leaf, leaf)}"


def test_shape_is_known_where_all_rows_share_it():
    assert "reshape" in text(lambda image, label: image.reshape(image.shape[0], -1), PAIRS)


def test_shape_of_ragged_rows_is_recorded():
    found = text(lambda x: x.reshape(x.shape[0] * 2), RAGGED)
    assert "%1 = py.side(%0, 0)" in found
    assert "py.mul(%1, 2)" in found


def test_len_of_ragged_rows_is_recorded():
    assert "np.divide(%0, %1)" in text(lambda x: x / len(x), RAGGED)


def count(x):
    return len(x)


def test_len_in_a_function_that_is_called_stops_the_trace():
    assert ".shape[0]" in reason(lambda x: x / count(x), RAGGED)


def test_ops_and_numpy_functions_are_recorded_by_name():
    found = text(lambda image, label: (ps.image.flip_left_right(image), np.where(label > 1, label, 0)), PAIRS)
    assert "image.flip_left_right(%0)" in found
    assert "np.where" in found


def test_random_ops_keep_the_number_of_their_stream():
    def augment(image, label):
        image = ps.image.random_flip_left_right(image)
        return ps.image.random_crop(image, (2, 2, 3)), label

    assert [step.draw for step in traced(augment, PAIRS).steps] == [Draw(0), Draw(1)]


def test_functions_called_by_the_function_are_traced_through():
    def halve(x):
        return x / 2

    assert text(lambda x: halve(x) + 1) == "%1 = np.divide(%0, 2)\n%2 = np.add(%1, 1)\nreturn %2"


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (lambda x: x if x > 1 else -x, "whether a value is true"),
        (lambda x: [1, 2, 3][x], "as an index"),
        (lambda x: float(x), "Python float"),
        (lambda x: f"{x}", "text"),
        (lambda x: sum(x), "loops"),
        (lambda x: isinstance(x, int), "isinstance"),
        (lambda x: 1 if x is None else x, "`is`"),
        (lambda x: x in (1, 2), "`in`"),
        (lambda x: max(x, 1), "whether a value is true"),
        (lambda x: np.add(x, 1, dtype=float), "form that is not traced"),
        (lambda x: np.fft.fft(x), "no rule for blocks"),
        (lambda x: np.asarray(x), "plain array"),
        (lambda x: np.eye(3)[x], "penstock.gather"),
        (lambda x: round(x), "numpy.round"),
        (lambda x: divmod(x, 2), "// and %"),
        (lambda x: [x, x], "list of values"),
        (lambda x: x.nosuch, ".nosuch"),
        (lambda x: (time.sleep(0), x)[1], "would not wait"),
        (lambda x: wait(0) or x, "would not wait"),
    ],
)
def test_what_cannot_be_recorded_stops_with_its_reason(function, fragment):
    assert fragment in reason(function)


def test_methods_of_text_are_not_traced():
    assert ".upper" in reason(lambda path: path.upper(), TEXTS)


def test_try_is_not_traced():
    def function(x):
        try:
            return x + 1
        except ValueError:
            return 0

    assert "catches exceptions" in reason(function)


class Stateful:
    scale = 2

    def method(self, x):
        return x * self.scale


SEEN: list[int] = []
GENERATOR = np.random.default_rng(0)
STREAM = ps.Rng(0)
SETTINGS = Stateful()
COUNTER = {"calls": 0}


def counts(x):
    COUNTER["calls"] += 1
    return x + COUNTER["calls"]


def mutable_default(x, seen=[]):  # noqa: B006  # what is tested
    seen.append(1)
    return x + len(seen)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + random.random(),
        lambda x: x + np.random.rand(),  # noqa: NPY002  # what is tested
        lambda x: x + GENERATOR.random(),
        lambda x: (SEEN.append(1), x)[1],
        counts,
        mutable_default,
        Stateful().method,
        lambda x: x + dt.datetime.now().year,
        lambda x: x + len(os.environ["PATH"]),
        lambda x: x + len(os.getenv("PATH", "")),
        lambda x: x + STREAM.random(),
        lambda x: x * SETTINGS.scale,
    ],
)
def test_what_may_change_from_call_to_call_is_never_frozen(function):
    assert isinstance(traced(function), Untraced)


def test_a_counter_in_a_closure_counts_every_element():
    count = 0

    def function(x):
        nonlocal count
        count += 1
        return x * 0 + count

    dataset = ps.Dataset.range(5).map(function)
    assert [int(x) for x in dataset] == [1, 2, 3, 4, 5]


def test_a_rebound_global_is_seen_by_the_next_iterator(monkeypatch):
    dataset = ps.Dataset.range(2).map(lambda x: x * SCALE)
    assert [float(x) for x in dataset] == [0.0, 2.0]
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert [float(x) for x in dataset] == [0.0, 5.0]


def test_an_edited_captured_array_is_seen_by_the_next_iterator():
    table = np.array([10, 20])
    dataset = ps.Dataset.range(2).map(lambda x: x + table)
    assert [x.tolist() for x in dataset] == [[10, 20], [11, 21]]
    table[:] = 0
    assert [x.tolist() for x in dataset] == [[0, 0], [1, 1]]


def test_random_ops_of_constants_are_recorded_not_computed():
    image = np.zeros((4, 5, 3), dtype=np.uint8)
    assert "image.random_crop" in text(lambda x: (ps.image.random_crop(image, (2, 2, 3)), x))
    assert "io.read_file" in text(lambda x: (ps.io.read_file(__file__), x))
    assert text(lambda x: (ps.image.flip_left_right(image), x)).startswith("return")


def test_function_demands_compilation_at_the_definition():
    with pytest.raises(NotCompiledError) as caught:

        @ps.function
        def function(x):
            return x + random.random()

    assert "test_tracer.py" in str(caught.value)
    assert "random" in str(caught.value)


def test_function_demands_compilation_at_the_first_element():
    @ps.function
    def function(x):
        return x if x > 1 else -x

    with pytest.raises(NotCompiledError, match="whether a value is true"):
        list(ps.Dataset.range(3).map(function))


def test_function_leaves_the_function_as_it_is():
    @ps.function
    def function(x):
        return x + 1

    assert function(1) == 2
    assert [int(x) for x in ps.Dataset.range(3).map(function)] == [1, 2, 3]


def test_explain_says_what_a_function_compiles_into():
    told = ps.Dataset.range(3).map(lambda x: x + 1).filter(lambda x: float(x) > 1).explain()
    assert "compiled, 1 on whole blocks, into\n    %1 = np.add(%0, 1)\n    return %1" in told
    assert "Python in threads (in processes if measured to hold the GIL), because it turns a value into a" in told
