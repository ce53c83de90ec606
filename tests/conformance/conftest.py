"""The files that cases read, and the cases as parameters."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from tests.conformance.registry import CASES, Case


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """classes/{cat,dog,empty}: some texts, one other file, one hidden; arrays; lines, records and CSV, some packed."""
    root = tmp_path_factory.mktemp("conformance")
    for name, count in (("cat", 3), ("dog", 4), ("empty", 0)):
        folder = root / "classes" / name / "inner"
        folder.mkdir(parents=True)
        for number in range(count):
            (folder.parent / f"{number}.txt").write_bytes(f"{name} {number}".encode())
    (root / "classes" / "dog" / "inner" / "deep.txt").write_text("deep")
    (root / "classes" / "dog" / "note.md").write_text("note")
    (root / "classes" / "dog" / ".hidden").write_text("hidden")
    np.arange(1009, dtype=np.uint16).tofile(root / "tokens.bin")
    np.save(root / "rows.npy", np.arange(23 * 6, dtype=np.float32).reshape(23, 2, 3))
    np.save(root / "swapped.npy", np.arange(29, dtype=">i4"))
    (root / "a.txt").write_bytes(b"".join(b"line %d\n" % number for number in range(17)))
    (root / "b.txt").write_bytes("é\r\n\nno end".encode())
    (root / "a.txt.gz").write_bytes(gzip.compress((root / "a.txt").read_bytes()))
    (root / "records.bin").write_bytes(b"HEAD" + bytes(range(60)) + b"END")
    write_tfrecords(root / "a.tfrecord", 17)
    write_tfrecords(root / "b.tfrecord", 4)
    write_tfrecords(root / "a.tfrecord.gz", 17, "GZIP")
    (root / "rows.csv").write_bytes(b"n,x,text\n" + b"".join(b'%d,%d.5,"row, %d"\n' % (n, n, n) for n in range(21)))
    (root / "bad.csv").write_bytes(b"".join(b"%d,%s\n" % (n, b"x" if n % 3 else b"7") for n in range(20)))
    _write_tables(root)
    _write_shards(root)
    return root


def write_tfrecords(path: Path, count: int, kind: str | None = None) -> None:
    with ps.io.TFRecordWriter(path, kind) as writer:
        for number in range(count):
            writer.write(b"%s %d" % (path.name.encode(), number) + b"." * (number % 5))


def _write_tables(root: Path) -> None:
    """table.parquet in row groups of 5, table.arrow in batches of 5; a.jsonl."""
    numbers = range(23)
    table = pa.table(
        {
            "n": pa.array(numbers, pa.int32()),
            "t": [f"é{n}" for n in numbers],
            "l": [list(range(n % 3)) for n in numbers],
            "hole": [None if n % 7 == 3 else n for n in numbers],
        }
    )
    pq.write_table(table, root / "table.parquet", row_group_size=5)
    with pa.ipc.new_file(root / "table.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    rows = [{"n": n, "t": f"é{n}", "o": {"x": n / 2}} for n in numbers]
    (root / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _write_shards(root: Path) -> None:
    """a.tar, also packed, and b.tar: samples of two fields."""
    for name, first in (("a.tar", 0), ("b.tar", 13)):
        with tarfile.open(root / name, "w") as tar:
            for member, data in ((f"{n}.{field}", f"{field}{n}".encode()) for n in range(first, 17) for field in "xy"):
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    (root / "a.tar.gz").write_bytes(gzip.compress((root / "a.tar").read_bytes()))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `case` runs for every case; one that takes `indexed` or `streaming` for those of the kind."""
    kinds = {
        "case": CASES.values(),
        "indexed": [case for case in CASES.values() if not case.streams],
        "streaming": [case for case in CASES.values() if case.streams],
    }
    for name, cases in kinds.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, cases, ids=str)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept in a directory is on its way to the disk; that it has come there is not what is tested here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(autouse=True)
def expected_warnings(request: pytest.FixtureRequest) -> Iterator[None]:
    """Warnings are errors in these suites, but for the cases that warn."""
    case = next((v for v in getattr(request.node, "callspec", _NOTHING).params.values() if isinstance(v, Case)), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if case is not None and case.warns else "error")
        yield


@pytest.fixture
def uneven_files(expected_warnings: None) -> None:
    """Ranks are told that their files do not come out even; here that is meant."""
    warnings.filterwarnings("ignore", message=".*ranks receive unequal parts")


class _NOTHING:
    params: dict[str, object] = {}  # noqa: RUF012 - never written to
