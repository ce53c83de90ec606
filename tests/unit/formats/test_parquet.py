"""Parquet and Arrow files: values of every type, nulls, many files, what is read and what is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from penstock import Dataset, Options, Ragged, Spec  # noqa: E402  # pyarrow may be missing
from penstock.errors import (  # noqa: E402
    DecodeError,
    InvalidArgumentError,
    NoFilesError,
    PenstockError,
    ReadError,
    StructureError,
    UnsupportedValueError,
)
from penstock.formats.part_cache import PartCache  # noqa: E402
from penstock.graph.nodes import FormatRows  # noqa: E402
from tests.unit.formats.tables import everything, plain, row  # noqa: E402

Write = Callable[..., str]


def _parquet(path: Path, table: Any, rows: int = 7) -> None:
    pq.write_table(table, path, row_group_size=rows)


def _arrow(compression: str | None, *, stream: bool = False) -> Callable[[Path, Any], None]:
    def write(path: Path, table: Any, rows: int = 7) -> None:
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=rows)

    return write


WRITERS = {"parquet": _parquet, "arrow": _arrow(None), "stream": _arrow(None, stream=True), "packed": _arrow("zstd")}


@pytest.fixture(params=WRITERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(kind: str, table: Any, name: str = "table", **said: Any) -> str:
        WRITERS[kind](tmp_path / name, table, **said)
        return str(tmp_path / name)

    return put


def opened(kind: str, *args: Any, **said: Any) -> Dataset:
    return (Dataset.from_parquet if kind == "parquet" else Dataset.from_arrow)(*args, **said)


def failing(dataset: Dataset) -> tuple[list[Any], PenstockError]:
    """The elements that came and the error that ended them, the same for blocks of one."""
    ends = []
    for size in (1, None):
        elements: list[Any] = []
        with pytest.raises(PenstockError) as caught:
            elements.extend(map(plain, dataset.with_options(Options(block_size=size))))
        ends.append((elements, caught.value))
    assert ends[0][0] == ends[1][0]
    assert str(ends[0][1]) == str(ends[1][1])
    return ends[0]


def test_rows_are_dicts_of_every_type(write: Write, kind: str) -> None:
    dataset = opened(kind, write(kind, everything()))
    assert len(dataset) == 50
    assert [plain(element) for element in dataset] == [row(n) for n in range(50)]
    assert plain(dataset[49]) == row(49)
    assert [plain(element) for element in dataset[40:2:-9]] == [row(n) for n in range(40, 2, -9)]


@pytest.mark.parametrize("threads", [1, 3])
def test_shuffled_rows_are_all_rows(write: Write, kind: str, threads: int) -> None:
    dataset = opened(kind, write(kind, everything())).shuffle(10).with_options(Options(cpu_budget=threads))
    elements = sorted((plain(element) for element in dataset), key=lambda e: e["int"])
    assert elements == [row(n) for n in range(50)]


def test_values_keep_their_types(write: Write, kind: str) -> None:
    element = opened(kind, write(kind, everything()))[3]
    kinds = {name: type(value) for name, value in element.items()}
    assert (kinds["text"], kinds["bytes"], kinds["word"]) == (str, bytes, str)
    assert element["list"].dtype == np.int16
    assert element["time"].dtype == "M8[us]"
    assert isinstance(element["lists"], Ragged)


def test_spec_is_that_of_the_schema(write: Write, kind: str) -> None:
    spec = opened(kind, write(kind, everything()), ["list", "pair", "text", "struct", "day"]).element_spec
    assert spec == {
        "list": Spec((None,), np.int16),
        "pair": Spec((2,), np.float64),
        "text": Spec((), str),
        "struct": {"x": Spec((), np.int64), "inner": {"y": Spec((), str)}},
        "day": Spec((), "M8[D]"),
    }


def test_batches_are_rows_stacked(write: Write, kind: str) -> None:
    columns = ["int", "pair", "text", "time", "bool"]
    dataset = opened(kind, write(kind, everything()), columns)
    for batched in (dataset.batch(8), dataset.shuffle(20).batch(8), dataset.shuffle(20).map(lambda e: e).batch(8)):
        for batch in batched:
            assert batch["int"].ctypes.data % 64 == 0
            assert batch["int"].flags.writeable
            for place, number in enumerate(batch["int"].tolist()):
                assert plain({name: leaf[place] for name, leaf in batch.items()}) == {
                    c: row(number)[c] for c in columns
                }


def test_lists_batch_as_ragged(write: Write, kind: str) -> None:
    batch = opened(kind, write(kind, everything()), ["list", "lists"]).ragged_batch(5)[1]
    assert batch["list"].to_list() == [row(n)["list"] for n in range(5, 10)]
    assert batch["lists"].to_list() == [row(n)["lists"] for n in range(5, 10)]


def test_files_come_one_after_another(write: Write, kind: str, tmp_path: Path) -> None:
    names = [write(kind, pa.table({"n": range(first, first + 10)}), f"{first}.t") for first in (0, 10, 20)]
    for paths in (names, str(tmp_path / "*.t"), [Path(name) for name in names]):
        dataset = opened(kind, paths)
        assert [int(e["n"]) for e in dataset] == list(range(30))
        assert sorted(int(e["n"]) for e in dataset.shuffle(3)) == list(range(30))
    assert [int(e["n"]) for e in opened(kind, names).shard(4, 1)] == list(range(1, 30, 4))


def test_ranks_take_their_files(write: Write, kind: str) -> None:
    names = [write(kind, pa.table({"n": range(first, first + 10)}), f"{first}.t") for first in (0, 10, 20)]
    dataset = opened(kind, names)
    parts = [[int(e["n"]) for e in dataset.distribute("file", rank=rank, world_size=2)] for rank in range(2)]
    assert parts == [[*range(10), *range(20, 30)], list(range(10, 20))]


def test_resumes_by_position(write: Write, kind: str) -> None:
    dataset = opened(kind, write(kind, everything()), ["int"]).shuffle(9).batch(4)
    iterator = dataset.iterator(epoch=3)
    before = [next(iterator)["int"].tolist() for _ in range(5)]
    rest = dataset.iterator(epoch=0)
    rest.load_state_dict(iterator.state_dict())
    after = [batch["int"].tolist() for batch in rest]
    assert [*before, *after] == [batch["int"].tolist() for batch in dataset.iterator(epoch=3)]


# --- nulls ------------------------------------------------------------------------------------------------------------

HOLES = {
    "n": [0, 1, None, 3] * 5,
    "s": ["a", None, "c", "d"] * 5,
    "l": [[1], [], None, [2, None]] * 5,
    "t": [{"x": 1}, {"x": None}, None, {"x": 4}] * 5,
}


def test_null_is_an_error_with_column_and_row(write: Write, kind: str) -> None:
    name = write(kind, pa.table({"n": HOLES["n"], "m": range(20)}))
    elements, error = failing(opened(kind, name))
    assert [e["n"] for e in elements] == [0, 1]
    assert isinstance(error, DecodeError)
    assert f"{name}, row 2" in str(error)
    assert "column 'n' is null" in str(error)


@pytest.mark.parametrize(("column", "row"), [("s", 1), ("l", 2), ("t", 1)])
def test_null_within_is_an_error(write: Write, kind: str, column: str, row: int) -> None:
    elements, error = failing(opened(kind, write(kind, pa.table({column: HOLES[column]}))))
    assert len(elements) == row
    assert f"row {row}" in str(error)


def test_null_item_of_a_list_is_an_error_where_rows_are_filled(write: Write, kind: str) -> None:
    elements, error = failing(opened(kind, write(kind, pa.table({"l": HOLES["l"]})), fill_null={"l": [7]}))
    assert [e["l"] for e in elements] == [[1], [], [7]]
    assert "row 3" in str(error)


def test_null_that_is_not_asked_for_is_none(write: Write, kind: str) -> None:
    name = write(kind, pa.table({"n": HOLES["n"], "m": range(20)}))
    assert len(list(opened(kind, name, ["m"]))) == 20
    assert [int(e["n"]) for e in opened(kind, name)[::4]] == [0] * 5


def test_fill_takes_the_place_of_nulls(write: Write, kind: str) -> None:
    fills = {"n": -1, "s": "?", "t.x": 9}
    columns = {name: HOLES[name] for name in ("n", "s", "t")}
    elements = list(opened(kind, write(kind, pa.table(columns)), fill_null=fills))
    assert [plain(element) for element in elements[:4]] == [
        {"n": 0, "s": "a", "t": {"x": 1}},
        {"n": 1, "s": "?", "t": {"x": 9}},
        {"n": -1, "s": "c", "t": {"x": 9}},
        {"n": 3, "s": "d", "t": {"x": 4}},
    ]
    items = pa.table({"l": [[1, None], [None], [], [4]] * 5})
    assert [plain(e["l"]) for e in opened(kind, write(kind, items), fill_null={"l": 0})[:4]] == [[1, 0], [0], [], [4]]


def test_skip_drops_and_lists_nulls(write: Write, kind: str) -> None:
    iterator = iter(opened(kind, write(kind, pa.table({"n": HOLES["n"]})), on_error="skip"))
    assert [int(element["n"]) for element in iterator] == [0, 1, 3] * 5
    assert len(iterator.skipped) == 5
    assert "row 2" in iterator.skipped[0].error


@pytest.mark.parametrize("fill", [{"n": "x"}, {"n": None}, {"m": 0}, {"n": [1]}])
def test_fill_that_does_not_fit_is_an_error(write: Write, kind: str, fill: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="fill_null"):
        opened(kind, write(kind, pa.table({"n": HOLES["n"]})), fill_null=fill)


# --- what does not fit ------------------------------------------------------------------------------------------------


def test_missing_column_says_which_there_are(write: Write, kind: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"no column 'c'; expected of 'a', 'b'"):
        opened(kind, write(kind, pa.table({"a": [1], "b": [2]})), ["c"])


def test_column_missing_in_a_later_file_names_it(write: Write, kind: str) -> None:
    names = [write(kind, pa.table({"a": [1]}), "one"), write(kind, pa.table({"b": [1]}), "two")]
    with pytest.raises(InvalidArgumentError, match="two: no column 'a'"):
        opened(kind, names)


def test_files_that_differ_are_an_error(write: Write, kind: str) -> None:
    names = [write(kind, pa.table({"a": [1]}), "one"), write(kind, pa.table({"a": ["x"]}), "two")]
    with pytest.raises(StructureError, match=r"two: column 'a' differs .* got 'a': str\[\], expected int64\[\]"):
        opened(kind, names)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]).cast(pa.decimal128(30, 2)),
        pa.array([[("k", 1)]] * 2, pa.map_(pa.string(), pa.int32())),
        pa.array([[{"x": 1}]] * 2),
        pa.nulls(2),
    ],
    ids=["decimal", "map", "structs in a list", "null"],
)
def test_type_that_is_no_value_names_the_column(write: Write, kind: str, column: Any) -> None:
    with pytest.raises(UnsupportedValueError, match="column 'bad' is of a type") as caught:
        opened(kind, write(kind, pa.table({"good": [1, 2], "bad": column})))
    assert caught.value.remedy == "columns=[...] without 'bad'"


def test_missing_file_and_pattern(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"test_parquet.py:\d+.*none.parquet"):
        Dataset.from_parquet(tmp_path / "none.parquet")
    with pytest.raises(NoFilesError, match="no file matches"):
        Dataset.from_parquet(str(tmp_path / "*.parquet"))
    with pytest.raises(InvalidArgumentError, match="paths"):
        Dataset.from_parquet([])


@pytest.mark.parametrize("keep", [0, 3, 100, -9])
def test_file_that_is_cut_names_it(write: Write, kind: str, keep: int) -> None:
    name = write(kind, everything())
    content = Path(name).read_bytes()
    Path(name).write_bytes(content[:keep])
    with pytest.raises((DecodeError, ReadError), match=name):
        list(opened(kind, name))


def test_file_that_changes_is_told(write: Write, kind: str) -> None:
    dataset = opened(kind, write(kind, pa.table({"n": range(20)})))
    write(kind, pa.table({"n": range(2000)}))
    with pytest.raises(ReadError, match="has changed"):
        list(dataset)


def test_page_that_is_broken_ends_what_came_before(write: Write) -> None:
    name = write("parquet", pa.table({"n": np.random.default_rng(0).integers(0, 10**9, 4000)}), rows=1000)
    content = bytearray(Path(name).read_bytes())
    start = pq.ParquetFile(name).metadata.row_group(2).column(0).data_page_offset
    content[start : start + 20] = b"\xff" * 20
    Path(name).write_bytes(content)
    elements, error = failing(Dataset.from_parquet(name))
    assert len(elements) == 2000
    assert isinstance(error, DecodeError)
    assert name in str(error)


# --- what is read, and in which order ---------------------------------------------------------------------------------


def test_shuffle_visits_row_groups_in_windows(write: Write) -> None:
    name = write("parquet", pa.table({"n": range(1000)}), rows=100)
    order = [int(e["n"]) for e in Dataset.from_parquet(name).shuffle(200)]
    assert sorted(order) == list(range(1000))
    windows = [Counter(n // 100 for n in order[start : start + 200]) for start in range(0, 1000, 200)]
    assert all(sorted(window.values()) == [100, 100] for window in windows)
    assert order != [int(e["n"]) for e in Dataset.from_parquet(name).shuffle(200, seed=1)]


def test_shuffle_reads_each_row_group_once(write: Write) -> None:
    name = write("parquet", pa.table({"n": range(1000)}), rows=50)
    dataset = Dataset.from_parquet(name, row_group_cache=2 * 100 * 8).shuffle(100)
    node = next(n for n in [dataset._node.input] if isinstance(n, FormatRows))
    store = node.store.open()
    from penstock.engine.buffers import BufferPool
    from penstock.engine.operators.piecewise import PieceOrder
    from penstock.graph.pieces import pieces_of_shuffle

    order = PieceOrder(pieces_of_shuffle(dataset._node)).images(7, np.arange(1000))
    for start in range(0, 1000, 10):
        store.read(order[start : start + 10], BufferPool())
    assert store.cache.loads == 20


@pytest.mark.parametrize("shuffled", [False, True])
def test_row_groups_go_when_their_rows_were_given(
    write: Write, shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches: list[PartCache[int, Any]] = []

    class Watched(PartCache[int, Any]):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            caches.append(self)

    monkeypatch.setattr("penstock.formats.arrow_tables.PartCache", Watched)
    dataset = Dataset.from_parquet(write("parquet", pa.table({"n": range(100)}), rows=10))
    dataset = dataset.shuffle(20) if shuffled else dataset
    assert sorted(element["n"] for element in dataset) == [*range(100)]
    assert sum(cache.loads for cache in caches) == 10
    assert not any(cache.kept for cache in caches)


def test_explain_tells_of_pieces(write: Write) -> None:
    text = Dataset.from_parquet(write("parquet", pa.table({"n": range(100)}), rows=10)).shuffle(30).explain()
    assert "10 pieces that are read as a whole" in text


def test_full_shuffle_where_any_row_is_as_cheap(write: Write) -> None:
    assert (
        "a permutation of all 100"
        in Dataset.from_arrow(write("arrow", pa.table({"n": range(100)}))).shuffle(30).explain()
    )


def test_saved_dataset_reads_the_same(write: Write, kind: str) -> None:
    dataset = opened(kind, write(kind, everything()), ["int", "list"], fill_null={"int": 0}).shuffle(9).batch(1)
    again = Dataset.from_bytes(dataset.to_bytes())
    assert [plain(e) for e in again] == [plain(e) for e in dataset.iterator(epoch=0)]
