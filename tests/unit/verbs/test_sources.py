"""What sources make of files and arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError, NoFilesError
from penstock.testing import assert_same_elements


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes: cat (b.jpg, sub/a.JPG, notes.txt, .hidden.jpg), dog (a.png); and what is no class."""
    for name in (
        "cat/b.jpg",
        "cat/sub/a.JPG",
        "cat/notes.txt",
        "cat/.hidden.jpg",
        "dog/a.png",
        ".cache/x.jpg",
        "top.jpg",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return tmp_path


def _relative(dataset: ps.Dataset, folder: Path) -> list[Any]:
    return [(str(Path(path).relative_to(folder)), int(label)) for path, label in dataset.iterator(0)]


def test_from_folder_gives_sorted_paths_and_labels(folder: Path) -> None:
    dataset = ps.Dataset.from_folder(folder)
    assert _relative(dataset, folder) == [
        ("cat/b.jpg", 0),
        ("cat/notes.txt", 0),
        ("cat/sub/a.JPG", 0),
        ("dog/a.png", 1),
    ]


def test_from_folder_gives_text_and_int64(folder: Path) -> None:
    assert ps.Dataset.from_folder(folder).element_spec == (ps.Spec((), str), ps.Spec((), "int64"))


def test_from_folder_keeps_the_extensions_asked_for(folder: Path) -> None:
    dataset = ps.Dataset.from_folder(str(folder), extensions=[".JPG"])
    assert _relative(dataset, folder) == [("cat/b.jpg", 0), ("cat/sub/a.JPG", 0)]


def test_class_names_are_in_the_order_of_labels(folder: Path) -> None:
    assert ps.Dataset.from_folder(folder).shuffle().batch(2).class_names == ("cat", "dog")


def test_class_names_without_a_folder() -> None:
    with pytest.raises(AttributeError, match="no from_folder"):
        _ = ps.Dataset.range(3).class_names


@pytest.mark.parametrize(
    ("names", "got"), [([], "no class folder"), (["cat", "dog"], "2 class folders without a file")]
)
def test_from_folder_without_files_is_an_error(tmp_path: Path, names: list[str], got: str) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    with pytest.raises(NoFilesError) as caught:
        ps.Dataset.from_folder(tmp_path)
    assert caught.value.got == got


def test_from_folder_without_the_extension_is_an_error(folder: Path) -> None:
    with pytest.raises(NoFilesError, match=r"files ending in \.gif"):
        ps.Dataset.from_folder(folder, extensions=[".gif"])


def test_list_files_unshuffled_is_sorted(folder: Path) -> None:
    dataset = ps.Dataset.list_files(str(folder / "*" / "*.*"), shuffle=False)
    assert [Path(path).name for path in dataset] == ["b.jpg", "notes.txt", "a.png"]


def test_list_files_takes_several_patterns_and_gives_each_file_once(folder: Path) -> None:
    patterns = [str(folder / "**" / "*.jpg"), str(folder / "cat" / "b.*")]
    names = [Path(path).name for path in ps.Dataset.list_files(patterns, shuffle=False)]
    assert names == ["b.jpg", "top.jpg"]


def test_list_files_is_shuffled_unless_told(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number:02}").touch()
    dataset = ps.Dataset.list_files(str(tmp_path / "*"), seed=3)
    first, second = list(dataset.iterator(0)), list(dataset.iterator(1))
    assert sorted(first) == sorted(second)
    assert sorted(first) != first != second


def test_from_tensors_is_one_element() -> None:
    (element,) = ps.Dataset.from_tensors({"a": np.zeros((2, 3)), "b": "text", "c": (1, 2.5)})
    assert element["a"].shape == (2, 3)
    assert (element["b"], element["c"]) == ("text", (1, 2.5))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_range_has_the_type_asked_for(dtype: str) -> None:
    values = list(ps.Dataset.range(1, 7, 2, output_type=dtype))
    assert [value.dtype for value in values] == [dtype] * 3
    assert [int(value) for value in values] == [1, 3, 5]


def test_rows_of_the_users_arrays_are_read_only() -> None:
    array = np.zeros((3, 4))
    element = next(iter(ps.Dataset.from_tensor_slices(array)))
    assert not element.flags.writeable
    assert array.flags.writeable


def test_counter_takes_any_start_and_step() -> None:
    assert [int(x) for x in ps.Dataset.counter(5, -2).take(4)] == [5, 3, 1, -1]
    assert [int(x) for x in ps.Dataset.counter(1, 0).take(2)] == [1, 1]
    assert ps.Dataset.counter(2**40, 10**6)[10**12] == 2**40 + 10**18


@pytest.mark.parametrize("arguments", [{"start": 0.5}, {"step": "1"}, {"dtype": str}, {"start": 2**63}])
def test_counter_refuses_what_is_no_count(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="counter"):
        ps.Dataset.counter(**arguments)


def test_random_is_the_same_in_each_epoch_unless_asked() -> None:
    same, anew = (ps.Dataset.random(seed=4, rerandomize_each_iteration=flag).batch(20) for flag in (None, True))
    assert np.array_equal(next(same.iterator(0)), next(same.iterator(1)))
    assert not np.array_equal(next(anew.iterator(0)), next(anew.iterator(1)))


def test_random_is_uniform_in_32_bits() -> None:
    values = next(iter(ps.Dataset.random(seed=1).batch(10_000)))
    assert values.dtype == np.int64
    assert 0 <= values.min() < 2**20
    assert 2**32 - 2**20 < values.max() < 2**32
    assert abs(values.mean() / 2**31 - 1) < 0.03


def test_random_differs_by_seed() -> None:
    first, second = (next(iter(ps.Dataset.random(seed=seed).batch(20))) for seed in (1, 2))
    assert not np.array_equal(first, second)


def test_a_generator_may_be_told_of_by_types_and_shapes() -> None:
    def series() -> Iterator[tuple[int, list[float]]]:
        for number in range(3):
            yield number, [0.5] * number

    one = ps.Dataset.from_generator(series, output_types=(np.int64, np.float32), output_shapes=((), (None,)))
    other = ps.Dataset.from_generator(series, output_signature=(ps.Spec((), np.int64), ps.Spec((None,), np.float32)))
    assert one.element_spec == other.element_spec
    assert_same_elements(list(one), list(other))


def test_types_without_shapes_take_any() -> None:
    counted = ps.Dataset.from_generator(range, "int32", args=[3])
    assert counted.element_spec == ps.Spec(None, np.int32)
    assert_same_elements(list(counted.batch(2)), [np.array([0, 1], np.int32), np.array([2], np.int32)])
    nested = ps.Dataset.from_generator(lambda: iter([{"a": (1, 2.0)}]), {"a": ("int64", "float64")}, None)
    assert_same_elements(list(nested), [{"a": (np.int64(1), np.float64(2.0))}])
