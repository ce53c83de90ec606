"""Every argument a verb checks: the class of the error, what was got and expected, and the user's own line."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import (
    InvalidArgumentError,
    NoFilesError,
    PenstockError,
    StackError,
    StructureError,
    UnknownLengthError,
    UnsupportedValueError,
)

Bad = namedtuple("Bad", "call kind got expected")
D = ps.Dataset
INT = ps.Spec((), "int64")


def ten() -> ps.Dataset:
    return D.range(10)


def _invalid(call: Callable[[], Any], got: str, expected: str) -> Bad:
    return Bad(call, InvalidArgumentError, got, expected)


BAD: dict[str, Bad] = {
    # sources
    "from_tensor_slices lengths": Bad(
        lambda: D.from_tensor_slices({"a": [1, 2], "b": [1]}), StructureError, "'b': 1", "one length for all"
    ),
    "from_tensor_slices scalar": Bad(lambda: D.from_tensor_slices(3), UnsupportedValueError, "()", "one dimension"),
    "from_tensor_slices text": Bad(lambda: D.from_tensor_slices("abc"), UnsupportedValueError, "()", "one dimension"),
    "from_tensor_slices none": Bad(lambda: D.from_tensor_slices(None), UnsupportedValueError, "None", "arrays"),
    "from_tensor_slices empty": Bad(lambda: D.from_tensor_slices({}), UnsupportedValueError, "{}", "at least one leaf"),
    "from_tensor_slices object": Bad(lambda: D.from_tensor_slices(object()), UnsupportedValueError, "object", "arrays"),
    "from_tensor_slices ragged": Bad(lambda: D.from_tensor_slices([[1], [1, 2]]), StackError, "inhomogeneous", ""),
    "from_tensor_slices objects": Bad(
        lambda: D.from_tensor_slices([1, None]), UnsupportedValueError, "NoneType", "bytes or str only"
    ),
    "from_tensors none": Bad(lambda: D.from_tensors((1, None)), UnsupportedValueError, "None", "arrays"),
    "from_tensors big int": Bad(lambda: D.from_tensors({"n": 2**63}), UnsupportedValueError, str(2**63), ""),
    "from_generator iterator": _invalid(
        lambda: D.from_generator(iter([1]), output_signature=INT), "list_iterator", "a callable"
    ),
    "from_generator signature": _invalid(
        lambda: D.from_generator(list, output_signature="int64"), "'int64'", "penstock.Spec(shape, dtype)"
    ),
    "from_generator nothing said": _invalid(lambda: D.from_generator(list), "none", "penstock.Spec(shape, dtype)"),
    "from_generator said twice": _invalid(
        lambda: D.from_generator(list, "int64", output_signature=INT), "output_types as well", "penstock.Spec"
    ),
    "from_generator no dtype": _invalid(lambda: D.from_generator(list, "int65", ()), "'int65'", "a dtype"),
    "from_generator one shape for two": _invalid(
        lambda: D.from_generator(list, ("int64", "int64"), ((),)), "((),)", "nested as output_types"
    ),
    "from_generator shapes of others": _invalid(
        lambda: D.from_generator(list, {"a": "int64"}, {"b": ()}), "{'b': ()}", "nested as output_types"
    ),
    "from_generator args": _invalid(lambda: D.from_generator(list, output_signature=INT, args=5), "5", "a sequence"),
    "from_source": _invalid(lambda: D.from_source(iter([1])), "without __len__ and __getitem__", "an object with"),
    "from_source workers": _invalid(lambda: D.from_source([1], num_parallel_calls=0), "0", "an integer >= 1"),
    "from_folder missing": Bad(lambda: D.from_folder("/no/such/folder"), NoFilesError, "/no/such/folder", "a folder"),
    "from_folder no path": _invalid(lambda: D.from_folder(5), "5", "a path"),
    "list_files nothing": Bad(lambda: D.list_files("/no/such/*.jpg"), NoFilesError, "/no/such", "at least one file"),
    "list_files empty list": Bad(lambda: D.list_files([]), NoFilesError, "[]", "at least one file"),
    "list_files no pattern": _invalid(lambda: D.list_files(5), "5", "a glob pattern"),
    "list_files no patterns": _invalid(lambda: D.list_files([b"a", 5]), "5]", "a glob pattern"),
    "range nothing": _invalid(lambda: D.range(), "0 arguments", "1 to 3"),
    "range four": _invalid(lambda: D.range(1, 2, 3, 4), "4 arguments", "1 to 3"),
    "range step": _invalid(lambda: D.range(1, 5, 0), "0", "another integer"),
    "range float": _invalid(lambda: D.range(1.5), "1.5", "an integer"),
    "range dtype": _invalid(lambda: D.range(3, output_type="nonsense"), "'nonsense'", "a NumPy dtype"),
    "zip nothing": Bad(lambda: D.zip(), UnsupportedValueError, "()", "at least one leaf"),
    "zip leaf": _invalid(lambda: D.zip(ten(), [1, 2]), "list at '1'", "datasets"),
    "zip none": Bad(lambda: D.zip(ten(), None), UnsupportedValueError, "None", ""),
    # grouping
    "batch size": _invalid(lambda: ten().batch(0), "0", "an integer >= 1"),
    "batch remainder": _invalid(lambda: ten().batch(2, remainder="fill"), "'fill'", '"pad"'),
    "batch remainder dropped": _invalid(lambda: ten().batch(2, True, remainder="pad"), "drop_remainder=True", '"pad"'),
    "batch weights": Bad(
        lambda: D.from_tensor_slices({"weights": [1]}).batch(2, remainder="pad"), StructureError, "", ""
    ),
    "pack length": _invalid(lambda: ten().map(str).pack(0), "0", "an integer >= 1"),
    "pack lengths": _invalid(lambda: ten().map(str).pack({"a": None}), "None", "an integer >= 1"),
    "pack strategy": _invalid(lambda: ten().map(str).pack(4, "worst_fit"), "'worst_fit'", "best_fit"),
    "pack bins": _invalid(lambda: ten().map(str).pack(4, num_packing_bins=0), "0", "an integer >= 1"),
    "pack concat": _invalid(lambda: ten().map(str).pack({"a": 1, "b": 2}, "concat"), "'b': 2", "one, for concat"),
    "pack tuple": Bad(lambda: D.zip(ten(), ten()).pack(4), StructureError, "(leaf, leaf)", "a dict of 1-D arrays"),
    "pack names": Bad(lambda: D.from_tensors({"a": [1]}).pack({"b": 4}), StructureError, "['b']", "['a']"),
    "pack padding": _invalid(
        lambda: D.from_tensors({"a": [1]}).pack(4, padding_values=0.5), "0.5", "one value of int64"
    ),
    "ragged_batch size": _invalid(lambda: ten().ragged_batch(0), "0", "an integer >= 1"),
    "ragged_batch dtype": _invalid(lambda: ten().ragged_batch(2, row_splits_dtype="int8"), "int8", "int64 or int32"),
    "ragged_batch no dtype": _invalid(lambda: ten().ragged_batch(2, row_splits_dtype="x"), "'x'", "int64 or int32"),
    "rebatch size": _invalid(lambda: ten().batch(2).rebatch(0), "0", "an integer >= 1"),
    "rebatch nothing": _invalid(lambda: ten().batch(2).rebatch([]), "[]", "an integer >= 1"),
    "rebatch sizes": _invalid(lambda: ten().batch(2).rebatch([2, -1]), "-1", "an integer >= 1"),
    "rebatch scalars": _invalid(lambda: ten().rebatch(2), "int64[]", "batches"),
    "padded_batch size": _invalid(lambda: ten().padded_batch(0), "0", "an integer >= 1"),
    "padded_batch shapes": _invalid(lambda: ten().padded_batch(2, 5), "5", "a list of sizes"),
    "padded_batch negative": _invalid(lambda: ten().padded_batch(2, [-2]), "[-2]", "a list of sizes"),
    "padded_batch nest": _invalid(lambda: ten().padded_batch(2, ([], [])), "((), ())", "leaf"),
    "padded_batch rank": _invalid(lambda: ten().padded_batch(2, [4]), "(4,)", "room for int64[]"),
    "padded_batch room": _invalid(
        lambda: D.from_tensor_slices(np.ones((4, 5))).padded_batch(2, [4]), "(4,)", "room for float64[5]"
    ),
    "padded_batch value": _invalid(lambda: ten().padded_batch(2, [], 0.5), "0.5", "one value of int64"),
    "padded_batch values": _invalid(lambda: ten().padded_batch(2, [], [1, 2]), "[1, 2]", "one value of int64"),
    "padded_batch values nest": _invalid(lambda: ten().padded_batch(2, [], {"a": 1}), "{'a': 1}", "leaf"),
    # element by element
    "map function": _invalid(lambda: ten().map(3), "3", "a function"),
    "map parallelism": _invalid(lambda: ten().map(abs, num_parallel_calls=0), "0", "an integer >= 1"),
    "map parallelism bool": _invalid(lambda: ten().map(abs, num_parallel_calls=True), "True", "an integer >= 1"),
    "map executor": _invalid(lambda: ten().map(abs, executor="gpu"), "'gpu'", "'threads'"),
    "map on_error": _invalid(lambda: ten().map(abs, on_error="ignore"), "'ignore'", "'raise' or 'skip'"),
    "map signature": _invalid(lambda: ten().map(abs, output_signature=[INT]), "[Spec", "penstock.Spec"),
    "map signature none": Bad(lambda: ten().map(abs, output_signature=(INT, None)), UnsupportedValueError, "None", ""),
    "random_map function": _invalid(lambda: ten().random_map("x"), "'x'", "a function"),
    "random_map seed": _invalid(lambda: ten().random_map(abs, seed=1.5), "1.5", "an integer or None"),
    "random_map parallelism": _invalid(lambda: ten().random_map(abs, num_parallel_calls=-2), "-2", "an integer >= 1"),
    "filter predicate": _invalid(lambda: ten().filter(None), "None", "a function"),
    "filter on_error": _invalid(lambda: ten().filter(abs, on_error=None), "None", "'raise' or 'skip'"),
    "enumerate start": _invalid(lambda: ten().enumerate("0"), "'0'", "an integer"),
    # grouping
    "batch zero": _invalid(lambda: ten().batch(0), "0", "an integer >= 1"),
    "batch negative": _invalid(lambda: ten().batch(-4), "-4", "an integer >= 1"),
    "batch float": _invalid(lambda: ten().batch(2.0), "2.0", "an integer >= 1"),
    "batch bool": _invalid(lambda: ten().batch(True), "True", "an integer >= 1"),
    "batch none": _invalid(lambda: ten().batch(None), "None", "an integer >= 1"),
    # order
    "shuffle zero": _invalid(lambda: ten().shuffle(0), "0", "an integer >= 1 or None"),
    "shuffle negative": _invalid(lambda: ten().shuffle(-5), "-5", "an integer >= 1 or None"),
    "shuffle seed": _invalid(lambda: ten().shuffle(seed="entropy"), "'entropy'", "an integer or None"),
    "repeat": _invalid(lambda: ten().repeat(-2), "-2", "an integer >= -1"),
    "take": _invalid(lambda: ten().take(-2), "-2", "an integer >= -1"),
    "take none": _invalid(lambda: ten().take(None), "None", "an integer >= -1"),
    "skip": _invalid(lambda: ten().skip(1.0), "1.0", "an integer >= -1"),
    "shard count": _invalid(lambda: ten().shard(0, 0), "0", "an integer >= 1"),
    "shard index": _invalid(lambda: ten().shard(2, -1), "-1", "an integer >= 0"),
    "shard index above": _invalid(lambda: ten().shard(2, 2), "2", "0 to 1, below num_shards=2"),
    "concatenate": _invalid(lambda: ten().concatenate([1]), "[1]", "a dataset"),
    "concatenate dtype": Bad(
        lambda: ten().concatenate(D.from_tensor_slices([1.5])), StructureError, "float64[]", "int64[]"
    ),
    "concatenate structure": Bad(
        lambda: ten().concatenate(ten().enumerate()), StructureError, "(int64[], int64[])", "int64[]"
    ),
    # in order, with a memory
    "scan function": _invalid(lambda: ten().scan(0, 3), "3", "a function"),
    "scan state": Bad(lambda: ten().scan((0, None), max), UnsupportedValueError, "None", "arrays"),
    "take_while predicate": _invalid(lambda: ten().take_while(True), "True", "a function"),
    "rejection_resample function": _invalid(lambda: ten().rejection_resample(0, [1.0]), "0", "a function"),
    "rejection_resample sum": _invalid(
        lambda: ten().rejection_resample(abs, [0.5, 0.6]), "which sum to 1.1", "all sum to 1"
    ),
    "rejection_resample negative": _invalid(lambda: ten().rejection_resample(abs, [1.5, -0.5]), "-0.5", "negative"),
    "rejection_resample numbers": _invalid(lambda: ten().rejection_resample(abs, "half"), "'half'", "numbers"),
    "rejection_resample classes": _invalid(
        lambda: ten().rejection_resample(abs, [0.5, 0.5], [1.0]), "1 classes", "2, as target_dist has"
    ),
    "rejection_resample never": _invalid(
        lambda: ten().rejection_resample(abs, [0.5, 0.5], [1.0, 0.0]), "0.5 of class 1", "never comes"
    ),
    "rejection_resample seed": _invalid(lambda: ten().rejection_resample(abs, [1.0], seed=0.5), "0.5", "or None"),
    # several by turns
    "sample_from_datasets nothing": _invalid(lambda: D.sample_from_datasets([]), "[]", "a list of datasets"),
    "sample_from_datasets number": _invalid(
        lambda: D.sample_from_datasets([ten(), ten()], [1.0]), "[1.0]", "2 numbers, one a dataset"
    ),
    "sample_from_datasets negative": _invalid(
        lambda: D.sample_from_datasets([ten(), ten()], [1.0, -1]), "[1.0, -1]", "none negative"
    ),
    "sample_from_datasets zeros": _invalid(
        lambda: D.sample_from_datasets([ten(), ten()], [0, 0]), "[0, 0]", "not all 0"
    ),
    "sample_from_datasets structure": Bad(
        lambda: D.sample_from_datasets([ten(), ten().enumerate()]), StructureError, "(int64[], int64[])", "int64[]"
    ),
    "choose_from_datasets choices": _invalid(
        lambda: D.choose_from_datasets([ten()], [0, 1]), "[0, 1]", "a dataset of integers"
    ),
    "choose_from_datasets kind": _invalid(
        lambda: D.choose_from_datasets([ten()], ten().batch(2)), "int64[2]", "the number of a dataset"
    ),
    "choose_from_datasets rank": Bad(
        lambda: D.choose_from_datasets([ten(), ten().batch(2)], ten()), StructureError, "int64[2]", "int64[]"
    ),
    "mix datasets": _invalid(lambda: D.mix(ten()), "Dataset range", "a list of datasets"),
    "mix weights": _invalid(lambda: D.mix([ten(), ten()], [1, float("nan")]), "nan", "2 numbers"),
    "mix dtype": Bad(lambda: D.mix([ten(), D.range(3, output_type="int8")]), StructureError, "int8[]", "int64[]"),
    # size
    "assert_cardinality": _invalid(lambda: ten().assert_cardinality(-2), "-2", "an integer >= -1"),
    "reduce function": _invalid(lambda: ten().reduce(0, None), "None", "a function"),
    "reduce endless": Bad(
        lambda: ten().repeat().reduce(0, max), UnknownLengthError, "repeat at", "a dataset that ends"
    ),
    "cache endless": Bad(lambda: ten().repeat().cache(), UnknownLengthError, "repeat at", "a dataset that ends"),
    "dataset[i:j:k] step": _invalid(lambda: ten()[::0], "0", "another integer"),
    "dataset[i:j:k] float": _invalid(lambda: ten()[1.5:], "1.5", "an integer or None"),
    # keeping
    "prefetch": _invalid(lambda: ten().prefetch(-2), "-2", "an integer >= -1"),
    "with_options": _invalid(lambda: ten().with_options({"seed": 1}), "{'seed': 1}", "penstock.Options"),
}


@pytest.mark.parametrize("name", BAD)
def test_verb_refuses_a_bad_argument(name: str) -> None:
    bad = BAD[name]
    with pytest.raises(PenstockError) as caught:
        bad.call()
    assert type(caught.value) is bad.kind
    text = str(caught.value)
    assert bad.got in text
    assert bad.expected in text


@pytest.mark.parametrize("name", BAD)
def test_verb_names_itself_and_the_users_line(name: str) -> None:
    call = BAD[name].call
    with pytest.raises(PenstockError) as caught:
        call()
    text = str(caught.value)
    first = call.__code__.co_firstlineno
    lines = range(first, first + 3)
    assert any(f"test_arguments.py:{line}" in text for line in lines), text
    assert name.split(maxsplit=1)[0] in text


ACCEPTED: dict[str, Callable[[], Any]] = {
    "numpy integers": lambda: ten().batch(np.int32(2)).take(np.int64(1)).shard(np.uint8(2), np.uint8(0)),
    "shuffle AUTOTUNE": lambda: ten().shuffle(ps.AUTOTUNE),
    "prefetch zero": lambda: ten().prefetch(0),
    "repeat none": lambda: ten().repeat(None),
    "map none": lambda: ten().map(abs, num_parallel_calls=None),
    "map by position": lambda: ten().map(abs, 4, False),
    "negative seed": lambda: ten().shuffle(seed=-5),
    "negative start": lambda: ten().enumerate(-3),
    "ordered nest of sources": lambda: D.zip({"a": ten(), "b": (ten(), ten())}),
    "generator with arguments": lambda: D.from_generator(range, output_signature=INT, args=(3,)),
    "integers of another type": lambda: D.range(3, output_type="int32"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_verb_takes_what_tf_data_takes(name: str) -> None:
    assert isinstance(ACCEPTED[name](), ps.Dataset)


VERBS = [
    lambda d: d.map(abs),
    lambda d: d.random_map(lambda x, rng: x),
    lambda d: d.filter(lambda x: True),
    lambda d: d.enumerate(),
    lambda d: d.batch(2),
    lambda d: d.batch(2).unbatch(),
    lambda d: d.shuffle(),
    lambda d: d.repeat(),
    lambda d: d.take(1),
    lambda d: d.skip(1),
    lambda d: d.shard(2, 0),
    lambda d: d.concatenate(d),
    lambda d: d.cache(),
    lambda d: d.prefetch(),
    lambda d: d.with_options(ps.Options()),
    lambda d: d[1:3],
    lambda d: d.scan(0, lambda s, x: (s, x)),
    lambda d: d.take_while(lambda x: True),
    lambda d: d.unique(),
    lambda d: d.rejection_resample(lambda x: 0, [1.0]),
    lambda d: d.assert_cardinality(10),
    lambda d: D.sample_from_datasets([d, d]),
    lambda d: D.choose_from_datasets([d, d], d),
    lambda d: D.mix([d, d]),
]


@pytest.mark.parametrize("verb", VERBS)
def test_verb_remembers_the_users_line(verb: Callable[[ps.Dataset], ps.Dataset]) -> None:
    location = verb(ten())._node.location
    assert location.file == __file__
    assert location.line == verb.__code__.co_firstlineno


@pytest.mark.parametrize("verb", VERBS)
def test_verb_leaves_its_input_alone(verb: Callable[[ps.Dataset], ps.Dataset]) -> None:
    dataset = ten()
    node = dataset._node
    assert verb(dataset) is not dataset
    assert dataset._node is node
    assert [int(x) for x in dataset.iterator(0)] == list(range(10))


def test_verbs_run_nothing() -> None:
    def explode(*arguments: Any) -> Any:
        raise AssertionError("ran")

    source = D.from_generator(explode, output_signature=INT)
    source.map(explode).filter(explode).random_map(explode).batch(2).cache().shuffle(3).repeat().prefetch(1)


def test_dataset_is_not_made_directly() -> None:
    with pytest.raises(InvalidArgumentError, match=r"start from Dataset.from_tensor_slices"):
        ps.Dataset()


def test_apply_wants_a_dataset_back() -> None:
    with pytest.raises(InvalidArgumentError, match="a function that returns a Dataset"):
        ten().apply(lambda dataset: 3)  # type: ignore[arg-type, return-value]  # what is tested


def test_apply_of_a_transformation_of_tensorflow_says_what_to_do() -> None:
    def transformation(dataset: ps.Dataset) -> ps.Dataset:
        return dataset

    transformation.__module__ = "tensorflow.python.data.ops"
    with pytest.raises(InvalidArgumentError, match="there is a verb in its place"):
        ten().apply(transformation)


def test_apply_gives_what_the_function_gives() -> None:
    assert ten().apply(lambda dataset: dataset.take(3)).cardinality() == 3


@pytest.mark.parametrize("epoch", [-1, 1.5, "0", True])
def test_iterator_refuses_a_bad_epoch(epoch: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="iterator: epoch"):
        ten().iterator(epoch)


def test_signature_of_verbs_is_that_of_tf_data() -> None:
    shuffle = list(inspect.signature(ps.Dataset.shuffle).parameters)
    assert shuffle == ["self", "buffer_size", "seed", "reshuffle_each_iteration", "start_early"]
    assert list(inspect.signature(ps.Dataset.batch).parameters)[:3] == ["self", "batch_size", "drop_remainder"]
    assert list(inspect.signature(ps.Dataset.map).parameters)[:4] == [
        "self", "map_func", "num_parallel_calls", "deterministic",
    ]  # fmt: skip
