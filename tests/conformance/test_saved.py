"""A pipeline that went through bytes gives the same elements, and takes the states of the one it was made from."""

from __future__ import annotations

import contextlib
import json
import random
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.errors import InvalidArgumentError, PenstockError, StructureError
from penstock.testing import assert_same_elements, collect
from tests.conformance.registry import Case, double, logged, numbers, stream


def test_from_bytes_gives_the_same_elements(case: Case, files: Path) -> None:
    dataset = case.build(files)
    copy = Dataset.from_bytes(dataset.to_bytes(), allow_code=True)
    assert_same_elements(collect(copy, 1, case.limit), collect(case.build(files), 1, case.limit))
    assert copy.cardinality() == dataset.cardinality()


def _prepare(x: Any) -> Any:
    return (x.astype(np.float32) - 3) / 2, np.where(x > 4, 1, 0)


def _even(x: Any) -> Any:
    return x % 2 == 0


def _at_random(x: Any, rng: ps.Rng) -> Any:
    return x + rng.uniform(0, 1)


def _saved(dataset: Dataset, **kwargs: Any) -> Dataset:
    return Dataset.from_bytes(dataset.to_bytes(), **kwargs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: numbers().shuffle(seed=4).map(_prepare).batch(5),
        lambda: numbers().random_map(_at_random).filter(_even).batch(3),
        lambda: numbers().map(lambda x: {"a": x, "b": (x * 2, x)}).map(lambda d: d["a"] + d["b"][0]),
        lambda: Dataset.from_tensor_slices({"x": np.arange(6.0), "y": [b"a", b"b", b"c", b"d", b"e", b"f"]}).batch(4),
        lambda: numbers().map(double).padded_batch(4),
    ],
)
def test_what_compiles_is_saved_without_code(make: Any) -> None:
    copy = _saved(make())
    for epoch in (0, 3):
        assert_same_elements(collect(copy, epoch), collect(make(), epoch))
    assert_same_elements(collect(_saved(copy)), collect(make()))


def test_code_runs_only_where_it_is_allowed() -> None:
    data = numbers().map(logged(double)).to_bytes()
    with pytest.raises(InvalidArgumentError, match=r"holds code.*map at .*test_saved\.py:\d+.*allow_code=True"):
        Dataset.from_bytes(data)
    assert_same_elements(collect(Dataset.from_bytes(data, allow_code=True)), collect(numbers().map(double)))


def test_a_state_goes_from_a_pipeline_to_its_copy() -> None:
    make = lambda: numbers(50).shuffle().filter(_even).batch(4)  # noqa: E731
    with make().iterator(epoch=2) as iterator:
        received = list(islice(iterator, 3))
        state = json.loads(json.dumps(iterator.state_dict()))
    with _saved(make()).iterator() as iterator:
        iterator.load_state_dict(state)
        assert_same_elements([*received, *iterator], collect(make(), 2))


def test_equal_pipelines_give_equal_bytes() -> None:
    first, second = (numbers().shuffle().map(_prepare).batch(4).to_bytes() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("seed", range(60))
def test_hostile_bytes_are_refused(seed: int) -> None:
    data = bytearray(numbers().map(_prepare).batch(4).to_bytes())
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    with contextlib.suppress(PenstockError):
        list(Dataset.from_bytes(bytes(data)))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a pipeline"])
def test_what_is_no_pipeline_is_told(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="not a saved dataset"):
        Dataset.from_bytes(data)


def test_a_saved_function_refuses_other_elements(tmp_path: Path) -> None:
    ps.export(Dataset.from_tensor_slices(np.zeros((3, 4), np.float32)).map(lambda x: x * 2), tmp_path / "p")
    frozen = ps.load(tmp_path / "p")
    assert frozen(np.ones(5, np.float32)).tolist() == [2.0] * 5
    with pytest.raises(StructureError, match=r"saved for other elements.*int64"):
        frozen(np.zeros(4, np.int64))
    with pytest.raises(StructureError, match="float64"):
        frozen.batch([np.zeros(4)])


def test_export_gives_in_serving_what_training_gave(tmp_path: Path) -> None:
    pixels = np.arange(9 * 40 * 30 * 3, dtype=np.int64).reshape(9, 40, 30, 3) * 7 % 251
    encoded = [ps.io.encode_jpeg(image.astype(np.uint8)) for image in pixels]

    def prepare(content: Any) -> Any:
        image = ps.image.resize(ps.io.decode_jpeg(content, channels=3), (16, 16))
        return ps.image.normalize(image, mean=(0.5, 0.5, 0.5), std=(0.2, 0.2, 0.2))

    dataset = Dataset.from_tensor_slices(encoded).shuffle().map(prepare)
    ps.export(dataset.batch(4).prefetch(1), tmp_path / "prepare.penstock")
    frozen = ps.load(tmp_path / "prepare.penstock")
    expected = np.stack([prepare(content) for content in encoded])
    assert_same_elements([frozen(content) for content in encoded], list(expected))
    assert_same_elements([frozen.batch(encoded)], [expected])


def test_export_takes_a_function(tmp_path: Path) -> None:
    ps.export(_prepare, tmp_path / "f", example=np.int64(0))
    frozen = ps.load(tmp_path / "f")
    assert_same_elements([frozen(np.int64(9))], [_prepare(np.int64(9))])
    both = frozen.batch([np.int64(3), np.int64(9)])
    assert [part.tolist() for part in both] == [[0.0, 3.0], [0, 1]]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: numbers().map(logged(double)), "only functions that compile"),
        (lambda: numbers().random_map(_at_random), "draws at random.*validates"),
        (lambda: numbers().batch(4).map(double), "whole batches"),
        (lambda: numbers().batch(4), "no map to export"),
    ],
)
def test_what_cannot_be_exported_is_told(make: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(ps.errors.NotCompiledError, match=says):
        ps.export(make(), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_load_tells_the_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"nothing")
    with pytest.raises(InvalidArgumentError, match="x: not a saved preprocessing"):
        ps.load(tmp_path / "x")
    with pytest.raises(ps.errors.ReadError, match="No such file"):
        ps.load(tmp_path / "y")


def test_a_generator_is_saved_with_its_code() -> None:
    assert_same_elements(collect(_saved(stream(), allow_code=True)), collect(stream()))
