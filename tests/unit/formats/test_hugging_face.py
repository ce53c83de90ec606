"""Datasets of Hugging Face: tables taken as they are, what is decoded asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

datasets = pytest.importorskip("datasets")

from penstock import Dataset, Spec  # noqa: E402  # datasets may be missing
from penstock.errors import DecodeError, InvalidArgumentError, SourceError  # noqa: E402
from penstock.graph.nodes import FormatRows, FormatStream, Indexed  # noqa: E402

COLUMNS: dict[str, list[Any]] = {
    "n": list(range(20)),
    "text": [f"t{n}" for n in range(20)],
    "list": [list(range(n % 3)) for n in range(20)],
    "o": [{"x": n / 2} for n in range(20)],
}


def numbers(dataset: Dataset) -> list[int]:
    return [int(element["n"]) for element in dataset]


def test_rows_are_those_of_the_table() -> None:
    dataset = Dataset.from_hugging_face(datasets.Dataset.from_dict(COLUMNS))
    assert isinstance(dataset._node, FormatRows)
    assert dataset.element_spec["list"] == Spec((None,), np.int64)
    assert numbers(dataset) == list(range(20))
    assert [element["text"] for element in dataset[::-7]] == ["t19", "t12", "t5"]
    assert dataset[5]["list"].tolist() == [0, 1]
    assert float(dataset[5]["o"]["x"]) == 2.5
    assert sorted(numbers(dataset.shuffle())) == list(range(20))
    assert dataset.map(lambda e: e["n"]).batch(20)[0].tolist() == list(range(20))


def test_order_of_the_dataset_is_kept() -> None:
    chosen = datasets.Dataset.from_dict(COLUMNS).shuffle(seed=3).select(range(4, 12))
    assert numbers(Dataset.from_hugging_face(chosen)) == chosen["n"][:]


def test_iterable_streams() -> None:
    stream = datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(num_shards=2)
    dataset = Dataset.from_hugging_face(stream)
    assert isinstance(dataset._node, FormatStream)
    assert numbers(dataset) == list(range(20))
    iterator = iter(dataset)
    for _ in range(7):
        next(iterator)
    other = iter(dataset)
    other.load_state_dict(iterator.state_dict())
    assert [int(e["n"]) for e in other] == list(range(7, 20))


def test_iterable_without_features_is_known_by_its_first_row() -> None:
    stream = datasets.IterableDataset.from_generator(lambda: ({"n": n} for n in range(600)))
    assert stream.features is None
    dataset = Dataset.from_hugging_face(stream)
    assert dataset.element_spec == {"n": Spec((), np.int64)}
    assert numbers(dataset) == list(range(600))


def test_generator_that_raises_is_told() -> None:
    def rows() -> Any:
        yield {"n": 1}
        raise OSError("gone")

    with pytest.raises(SourceError, match="gone"):
        list(
            Dataset.from_hugging_face(
                datasets.IterableDataset.from_generator(
                    rows, features=datasets.Features({"n": datasets.Value("int64")})
                )
            )
        )


@pytest.mark.parametrize("iterable", [False, True])
def test_nulls(iterable: bool) -> None:
    table = datasets.Dataset.from_dict({"n": [0, None, 2]})
    source = table.to_iterable_dataset() if iterable else table
    with pytest.raises(DecodeError, match=r"row 1.*column 'n' is null"):
        list(Dataset.from_hugging_face(source))
    assert numbers(Dataset.from_hugging_face(source, fill_null={"n": 9})) == [0, 9, 2]
    assert numbers(Dataset.from_hugging_face(source, on_error="skip")) == [0, 2]


def test_what_is_decoded_is_asked_for() -> None:
    table = datasets.Dataset.from_dict(COLUMNS).remove_columns("o")
    dataset = Dataset.from_hugging_face(table.with_transform(lambda rows: {"n": [-n for n in rows["n"]]}))
    assert isinstance(dataset._node, Indexed)
    assert numbers(dataset) == [-n for n in range(20)]


def test_what_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"got list, expected a datasets.Dataset"):
        Dataset.from_hugging_face([1, 2])
