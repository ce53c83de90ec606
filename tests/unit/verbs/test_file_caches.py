"""`cache(directory)`: kept from run to run, never stale, told what changed; broken off, it leaves nothing."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options, Spec
from penstock.errors import (
    DecodeError,
    InvalidArgumentError,
    PenstockWarning,
    ReadError,
    StructureError,
    UnknownLengthError,
    UnsupportedValueError,
    UserFunctionError,
    WriteError,
)

INT = Spec((), np.int64)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PenstockWarning)
        yield


def _stream(count: int = 12, calls: list[int] | None = None) -> Dataset:
    def generate() -> Iterator[int]:
        for number in range(count):
            if calls is not None:
                calls.append(number)
            yield number

    return Dataset.from_generator(generate, output_signature=INT)


def _numbers(dataset: Dataset, epoch: int = 0) -> list[int]:
    with dataset.iterator(epoch) as iterator:
        return [int(x) for x in iterator]


def _counted(calls: list[int]) -> Callable[[Any], Any]:
    """A function that writes down its calls, which is not part of what it computes: hence a version."""
    return lambda x: calls.append(int(x)) or x * 2


def _entries(directory: Path) -> list[str]:
    return sorted(os.listdir(directory)) if directory.exists() else []


@pytest.mark.parametrize(
    "make", [lambda calls: Dataset.range(12).map(_counted(calls)), lambda calls: _stream().map(_counted(calls))]
)
def test_a_later_dataset_reads_what_an_earlier_one_kept(make: Any, tmp_path: Path) -> None:
    calls: list[int] = []
    for _ in range(3):
        assert _numbers(make(calls).cache(tmp_path / "kept", version="v1")) == list(range(0, 24, 2))
    assert sorted(calls) == list(range(12))
    assert len(_entries(tmp_path / "kept")) == 1


def test_a_kept_stream_is_had_by_number(tmp_path: Path) -> None:
    kept = _stream().cache(tmp_path)
    assert [int(kept[i]) for i in (3, -1)] == [3, 11]
    assert [int(x) for x in kept[2:9:3]] == [2, 5, 8]
    assert "by number from" in kept.explain()


def test_a_shuffle_above_a_kept_stream_is_one_order_before_and_after(tmp_path: Path) -> None:
    make = lambda: _stream(50).cache(tmp_path).shuffle(3)  # noqa: E731
    assert "filled before the first element" in make().explain()
    assert _entries(tmp_path) == []
    first, second = _numbers(make(), epoch=1), _numbers(make(), epoch=1)

    assert first == second


def test_the_iterator_that_fills_delivers(tmp_path: Path) -> None:
    calls: list[int] = []
    kept = _stream(10_000, calls).cache(tmp_path, version="v1").with_options(Options(block_size=10, executor="inline"))
    with kept.iterator() as iterator:
        assert int(next(iterator)) == 0
        assert len(calls) <= 20
    assert _entries(tmp_path) == []


def test_draws_above_are_those_without_a_cache(tmp_path: Path) -> None:
    noisy = lambda x, rng: (x, rng.integers(10**9))  # noqa: E731
    for below in (Dataset.range(20).batch(4).unbatch(), Dataset.range(20).repeat(2), _stream(20)):
        plain = [(int(a), int(b)) for a, b in below.random_map(noisy).iterator(3)]
        for _ in range(2):
            kept = below.cache(tmp_path).random_map(noisy)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert [(int(a), int(b)) for a, b in kept.iterator(3)] == plain


def test_random_augmentation_below_is_frozen(tmp_path: Path) -> None:
    make = lambda: Dataset.range(9).random_map(lambda x, rng: rng.integers(10**9)).cache(tmp_path)  # noqa: E731
    assert _numbers(make(), 0) == _numbers(make(), 5)


def test_an_iterator_that_was_broken_off_leaves_nothing(tmp_path: Path) -> None:
    for make in (lambda: Dataset.range(100).map(lambda x: x + 1), lambda: _stream(100)):
        dataset = make().cache(tmp_path).with_options(Options(block_size=4))
        with dataset.iterator() as iterator:
            next(iterator)
        del dataset, iterator
        gc.collect()
        assert _entries(tmp_path) == []


def test_a_cache_that_was_broken_off_goes_on_in_the_next_epoch(tmp_path: Path) -> None:
    calls: list[int] = []
    dataset = Dataset.range(30).map(_counted(calls)).cache(tmp_path, version="v1").shuffle()
    with dataset.with_options(Options(block_size=4, executor="inline")).iterator(0) as iterator:
        for _ in range(11):
            next(iterator)
    assert sorted(_numbers(dataset, 1)) == list(range(0, 60, 2))
    assert sorted(calls) == list(range(30))
    assert len(_entries(tmp_path)) == 1


def test_the_remainder_that_a_batch_drops_is_kept_too(tmp_path: Path) -> None:
    make = lambda: Dataset.range(23).map(lambda x: x + 1).cache(tmp_path).shuffle().batch(5, drop_remainder=True)  # noqa: E731
    assert len(list(make())) == 4
    assert len(_entries(tmp_path)) == 1


def test_take_of_a_part_keeps_nothing(tmp_path: Path) -> None:
    assert len(list(Dataset.range(10_000).map(lambda x: x + 1).cache(tmp_path).take(5))) == 5
    assert not [name for name in _entries(tmp_path) if not name.startswith(".")]


def test_an_element_that_fails_is_told_and_nothing_is_kept(tmp_path: Path) -> None:
    def fails(x: Any) -> Any:
        if x == 5:
            raise KeyError("five")
        return x

    for below in (Dataset.range(9), _stream(9)):
        with pytest.raises(UserFunctionError, match="five"):
            list(below.map(fails).cache(tmp_path))
    assert not [name for name in _entries(tmp_path) if not name.startswith(".")]


@pytest.mark.parametrize("count", [0, 1])
def test_few_elements_are_kept(count: int, tmp_path: Path) -> None:
    for _ in range(2):
        assert _numbers(_stream(count).cache(tmp_path)) == list(range(count))
    assert len(_entries(tmp_path)) == 1


# --- never stale ------------------------------------------------------------------------------------------------------


def _module(text: str, name: str = "kept_functions") -> ModuleType:
    module = ModuleType(name)
    module.__file__ = f"/nowhere/{name}.py"
    sys.modules[name] = module
    exec(compile(textwrap.dedent(text), module.__file__, "exec"), module.__dict__)
    return module


def _mapped(text: str) -> Callable[[Dataset], Dataset]:
    return lambda dataset: dataset.map(_module(text).f)


BEFORE = "SIZE = 3\ndef helper(x): return x + SIZE\ndef f(x, k=2): return helper(x) * k"
CHANGES: dict[str, tuple[Callable[[Dataset], Dataset], Callable[[Dataset], Dataset], str]] = {
    "a verb's parameter": (lambda d: d.shuffle(5, seed=1), lambda d: d.shuffle(5, seed=2), r"seed 1 became 2"),
    "another verb": (lambda d: d.take(5), lambda d: d.skip(5), r"take became skip at"),
    "a verb more": (lambda d: d, lambda d: d.take(5), r"take at .* is new"),
    "a verb less": (lambda d: d.take(5), lambda d: d, r"take is no longer there"),
    "the code": (
        _mapped(BEFORE),
        _mapped(BEFORE.replace("* k", "- k")),
        r"`f` changed at /nowhere/kept_functions\.py:3",
    ),
    "a constant": (_mapped(BEFORE), _mapped(BEFORE + " + 1"), r"`f` changed at"),
    "what it calls": (_mapped(BEFORE), _mapped(BEFORE.replace("x + SIZE", "x - SIZE")), r"`helper` changed at"),
    "a default": (_mapped(BEFORE), _mapped(BEFORE.replace("k=2", "k=4")), r"default 0 of `f`: 2 became 4"),
    "a global": (_mapped(BEFORE), _mapped(BEFORE.replace("= 3", "= 4")), r"SIZE, read by `helper`: 3 became 4"),
    "a closure": (
        _mapped("def make(n):\n  def f(x): return x + n\n  return f\nf = make(1)"),
        _mapped("def make(n):\n  def f(x): return x + n\n  return f\nf = make(2)"),
        r"n, read by `make\.f`: 1 became 2",
    ),
    "an array": (
        _mapped("import numpy as np\nT = np.arange(3)\ndef f(x): return x + T[0]"),
        _mapped("import numpy as np\nT = np.arange(3) + 1\ndef f(x): return x + T[0]"),
        r"T, read by `f`: array .* became array",
    ),
    "an object's state": (
        _mapped("class F:\n  def __init__(s, n): s.n = n\n  def __call__(s, x): return x + s.n\nf = F(1)"),
        _mapped("class F:\n  def __init__(s, n): s.n = n\n  def __call__(s, x): return x + s.n\nf = F(2)"),
        r"n of a F: 1 became 2",
    ),
    "a method": (
        _mapped("class F:\n  def __call__(s, x): return x + 1\nf = F()"),
        _mapped("class F:\n  def __call__(s, x): return x + 2\nf = F()"),
        r"`F\.__call__` changed at",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changed_is_said_and_the_cache_made_anew(name: str, tmp_path: Path) -> None:
    before, after, said = CHANGES[name]
    old = before(Dataset.range(20)).cache(tmp_path)
    expected_old = _numbers(old)
    (entry,) = _entries(tmp_path)
    new = after(Dataset.range(20)).cache(tmp_path)
    with pytest.warns(PenstockWarning, match=rf"cache at .*test_file_caches\.py:\d+: made anew in .*{said}") as told:
        found = _numbers(new)
    assert Path(told[0].filename).resolve() == Path(__file__).resolve()  # the line that runs the pipeline
    assert found == _numbers(after(Dataset.range(20)))
    (other,) = _entries(tmp_path)
    assert other != entry
    assert _numbers(old, 1) == expected_old  # it has its files open


SAME: dict[str, tuple[Callable[[Dataset], Dataset], Callable[[Dataset], Dataset]]] = {
    "another line": (_mapped(BEFORE), _mapped("# a remark\n\n" + BEFORE)),
    "parallelism": (lambda d: d.map(abs), lambda d: d.map(abs, num_parallel_calls=3)),
    "options": (lambda d: d.map(abs), lambda d: d.map(abs).with_options(Options(cpu_budget=1, seed=7)).prefetch(2)),
}


@pytest.mark.parametrize("name", SAME)
def test_what_changes_no_element_keeps_the_cache(name: str, tmp_path: Path) -> None:
    before, after = SAME[name]
    found = _numbers(before(Dataset.range(20)).cache(tmp_path))
    (entry,) = _entries(tmp_path)
    assert _numbers(after(Dataset.range(20)).cache(tmp_path)) == found
    assert _entries(tmp_path) == [entry]


def test_the_seed_counts_where_something_draws_by_it(tmp_path: Path) -> None:
    shuffled = lambda seed: Dataset.range(20).shuffle().cache(tmp_path).with_options(Options(seed=seed))  # noqa: E731
    _numbers(shuffled(1))
    with pytest.warns(PenstockWarning, match="seed 1 became 2"):
        _numbers(shuffled(2))


def test_a_changed_input_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    for make in (
        lambda: ps.TextLineDataset(file).cache(tmp_path / "lines"),
        lambda: Dataset.from_tensor_slices([str(file)]).map(ps.io.read_file).cache(tmp_path / "read"),
        lambda: Dataset.list_files(str(tmp_path / "*.txt")).map(ps.io.read_file).cache(tmp_path / "listed"),
    ):
        file.write_text("one\ntwo\n")
        assert b"".join(make()).startswith(b"one")
        file.write_text("three\n")
        with pytest.warns(PenstockWarning, match=r"file .*a\.txt changed"):
            assert b"".join(make()).strip() == b"three"


def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"x")

    def generate() -> Iterator[int]:
        yield 1
        file.write_bytes(b"other")

    other = Dataset.from_generator(generate, output_signature=INT)
    kept = Dataset.zip(
        Dataset.from_tensor_slices([str(file)]).concatenate(Dataset.from_tensor_slices([str(file)])), other
    )
    with pytest.warns(PenstockWarning, match=r"not kept, as .* changed while it was read: file .*a\.txt changed"):
        list(kept.cache(tmp_path / "kept", version="v1"))
    assert _entries(tmp_path / "kept") == []


def test_an_index_of_lines_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    make = lambda: ps.TextLineDataset(file).cache(tmp_path / "kept")  # noqa: E731
    assert list(make()) == [b"one", b"two", b"three"]
    assert sorted(make().shuffle()) == [b"one", b"three", b"two"]
    assert make()[1] == b"two"
    assert len(_entries(tmp_path / "kept")) == 1


def test_the_files_of_captured_datasets_count(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    make = lambda: Dataset.range(2).flat_map(lambda n: ps.TextLineDataset(file).skip(n)).cache(tmp_path / "k")  # noqa: E731
    inner = ps.TextLineDataset(file)
    other = lambda: Dataset.range(2).flat_map(lambda n: inner.skip(n)).cache(tmp_path / "o")  # noqa: E731
    for _ in range(2):
        assert list(make()) == list(other()) == [b"one", b"two", b"two"]
    assert len(_entries(tmp_path / "o")) == 1
    file.write_text("three\n")
    inner = ps.TextLineDataset(file)
    for again in (make, other):
        with pytest.warns(PenstockWarning, match=r"file .*a\.txt changed"):
            assert list(again()) == [b"three"]


@pytest.mark.parametrize("reads", [None, 2])
def test_records_are_kept_whether_by_number_or_not(reads: int | None, tmp_path: Path) -> None:
    for name in "ab":
        with ps.io.TFRecordWriter(tmp_path / f"{name}.tfrecord") as writer:
            for number in range(5):
                writer.write(f"{name}{number}".encode())
    files = [tmp_path / "a.tfrecord", tmp_path / "b.tfrecord"]
    make = lambda **said: ps.TFRecordDataset(files, num_parallel_reads=reads, **said).cache(tmp_path / "kept")  # noqa: E731
    plain = list(ps.TFRecordDataset(files, num_parallel_reads=reads))
    assert list(make()) == plain
    (entry,) = _entries(tmp_path / "kept")
    assert list(make()) == plain
    if reads is None:
        assert sorted(make().shuffle()) == sorted(plain)
        assert next(iter(make(index=False).batch(10))).tolist() == plain
        assert _entries(tmp_path / "kept") == [entry]


def test_other_rows_of_a_hugging_face_dataset_are_told(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    make = lambda rows: Dataset.from_hugging_face(datasets.Dataset.from_dict({"n": rows})).cache(tmp_path)  # noqa: E731
    for _ in range(2):
        assert [int(row["n"]) for row in make([1, 2, 3])] == [1, 2, 3]
    with pytest.warns(PenstockWarning, match="from_hugging_face at .*: of .* became"):
        assert [int(row["n"]) for row in make([1, 2, 4])] == [1, 2, 4]


def test_a_changed_json_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    make = lambda: Dataset.from_json_lines(file).cache(tmp_path / "kept")  # noqa: E731
    file.write_text('{"n": 1}\n')
    for _ in range(2):
        assert [int(row["n"]) for row in make()] == [1]
    file.write_text('{"n": 25}\n')
    with pytest.warns(PenstockWarning, match=r"file .*a\.jsonl changed"):
        assert [int(row["n"]) for row in make()] == [25]


def test_a_changed_package_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = lambda: Dataset.range(4).map(lambda x: np.sqrt(x)).cache(tmp_path)  # noqa: E731
    list(make())
    now = np.__version__
    monkeypatch.setattr(np, "__version__", "99.1")
    with pytest.warns(PenstockWarning, match=rf"package numpy: {now} became 99\.1"):
        list(make())


def test_changed_arrays_in_memory_are_told(tmp_path: Path) -> None:
    for one, other in (
        (np.arange(5), np.arange(5) + 1),
        (["a", "b"], ["a", "c"]),
        ([b"ab", b"c"], [b"a", b"bc"]),
    ):
        directory = tmp_path / str(one)[:8].replace("/", "")
        list(Dataset.from_tensor_slices(one).cache(directory))
        with pytest.warns(PenstockWarning, match="columns .* became"):
            list(Dataset.from_tensor_slices(other).cache(directory))


@pytest.mark.parametrize("make", [lambda f: Dataset.range(3).map(f), lambda f: Dataset.from_source([1, 2]).filter(f)])
def test_what_cannot_be_compared_asks_for_a_version(make: Any, tmp_path: Path) -> None:
    lock = threading.Lock()

    def locked(x: Any) -> Any:
        with lock:
            return x > -1

    with pytest.raises(
        InvalidArgumentError, match=r'lock, read by `.*locked` is a lock.*cache\(directory, version="v1"\)'
    ):
        list(make(locked).cache(tmp_path))
    assert len(list(make(locked).cache(tmp_path, version="v1"))) > 1
    with pytest.warns(PenstockWarning, match="version v1 became v2"):
        list(make(locked).cache(tmp_path, version="v2"))


def test_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    make = lambda: Dataset.range(9).map(lambda x: x * 3).cache(tmp_path)  # noqa: E731
    expected = _numbers(make())
    (entry,) = _entries(tmp_path)
    path = tmp_path / entry / "0.element.npy"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.warns(PenstockWarning, match=r"made anew .*0\.element\.npy: a kept file is damaged"):
        assert _numbers(make()) == expected
    assert _numbers(make()) == expected


def test_a_snapshot_keeps_what_others_kept(tmp_path: Path) -> None:
    calls: list[int] = []

    def note(number: int) -> None:
        calls.append(number)

    for _ in range(2):
        for factor in (2, 3):
            below = Dataset.range(4).map(lambda x, factor=factor: x * factor)
            assert _numbers(below.snapshot(tmp_path)) == [0, factor, 2 * factor, 3 * factor]
    assert len(_entries(tmp_path)) == 2
    note(1)


def test_two_ranks_by_files_keep_side_by_side(tmp_path: Path) -> None:
    files = []
    for number in range(4):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text(f"{number}\n{number}\n")
    for _ in range(2):
        for rank in range(2):
            dataset = ps.TextLineDataset(files).cache(tmp_path / "kept").batch(4)
            dataset = dataset.distribute("file", rank, 2)
            assert b"".join(b"".join(batch.tolist()) for batch in dataset) == (b"0022", b"1133")[rank]
    assert len(_entries(tmp_path / "kept")) == 2


# --- what cannot be --------------------------------------------------------------------------------------------------


def test_an_endless_dataset_is_refused(tmp_path: Path) -> None:
    endless = Dataset.range(3).repeat()
    for verb in (endless.cache, endless.snapshot, endless.save):
        with pytest.raises(UnknownLengthError, match=r"of an endless dataset.*test_file_caches\.py"):
            verb(tmp_path)


def test_datasets_as_elements_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedValueError, match="a dataset cannot be kept"):
        list(Dataset.range(6).window(2).cache(tmp_path))
    assert _entries(tmp_path) == []


def test_a_cache_in_a_dataset_that_a_function_returns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="one for each element"):
        list(Dataset.range(3).flat_map(lambda n: Dataset.range(n + 1).cache(tmp_path)))


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for make in (lambda: Dataset.range(5).map(lambda x: x), lambda: _stream(5)):
        with pytest.raises(WriteError, match=r"cannot write what is kept.*Not a directory"):
            list(make().cache(tmp_path / "file" / "kept"))


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("cache", {"directory": 3}),
        ("cache", {"directory": "x", "version": 1}),
        ("snapshot", {"path": ""}),
        ("snapshot", {"path": "x", "compression": "GZIP"}),
        ("snapshot", {"path": "x", "reader_func": list}),
        ("save", {"path": None}),
        ("save", {"path": "x", "compression": "GZIP"}),
        ("save", {"path": "x", "shard_func": abs}),
        ("load", {"path": "x", "reader_func": list}),
    ],
)
def test_arguments_that_do_not_fit_are_told(verb: str, arguments: dict[str, Any]) -> None:
    name = next(reversed(arguments))
    with pytest.raises(InvalidArgumentError, match=f"{verb}: {name}"):
        getattr(Dataset.range(3), verb)(**arguments)


# --- save and load ---------------------------------------------------------------------------------------------------


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    Dataset.range(20).filter(lambda x: x % 2 == 0).map(lambda x: {"n": x, "s": str(x)}).save(tmp_path)
    loaded = Dataset.load(tmp_path)
    assert len(loaded) == 10
    assert loaded[3] == {"n": 6, "s": "6"}
    assert str(loaded.element_spec["s"]) == "str[]"
    assert sorted(int(e["n"]) for e in loaded.shuffle()) == list(range(0, 20, 2))


def test_saving_again_replaces(tmp_path: Path) -> None:
    Dataset.range(5).save(tmp_path)
    before = Dataset.load(tmp_path)
    Dataset.range(7).save(tmp_path)
    assert (len(Dataset.load(tmp_path)), _numbers(before)) == (7, list(range(5)))
    assert len(_entries(tmp_path)) == 1


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    Dataset.range(5).save(tmp_path)
    with pytest.raises(UserFunctionError):
        Dataset.range(5).map(lambda x: 1 // int(x - 3)).save(tmp_path)
    assert len(Dataset.load(tmp_path)) == 5
    assert len(_entries(tmp_path)) == 1


def test_load_reads_what_a_cache_kept(tmp_path: Path) -> None:
    list(_stream(6).cache(tmp_path))
    assert _numbers(Dataset.load(tmp_path)) == list(range(6))


def test_load_tells_what_is_not_there_or_other(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"load at .*test_file_caches\.py:\d+.*nothing is kept there"):
        Dataset.load(tmp_path)
    Dataset.range(5).save(tmp_path)
    Dataset.load(tmp_path, element_spec=INT)
    with pytest.raises(StructureError, match="load: other elements"):
        Dataset.load(tmp_path, element_spec=Spec((), np.float32))
    (entry,) = tmp_path.iterdir()
    (entry / "manifest.json").write_text("{}")
    with pytest.raises(DecodeError, match=r"load at .*not a manifest"):
        Dataset.load(tmp_path)


def test_a_loaded_dataset_goes_through_bytes(tmp_path: Path) -> None:
    Dataset.range(5).save(tmp_path)
    copy = Dataset.from_bytes(Dataset.load(tmp_path).batch(2).to_bytes())
    assert [batch.tolist() for batch in copy] == [[0, 1], [2, 3], [4]]


# --- other processes --------------------------------------------------------------------------------------------------

PROGRAM = """
import os, signal, sys
import numpy as np, penstock as ps

def generate():
    for number in range(200):
        if number == 150 and sys.argv[2] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 150 and sys.argv[2] == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        if number == 150 and sys.argv[2] == "meet":
            print("here", flush=True)
            sys.stdin.readline()
        yield np.full(100, number)

if sys.argv[2] == "full":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
source = ps.Dataset.from_generator(generate, output_signature=ps.Spec((100,), np.int64))
if sys.argv[2] == "full":
    source = ps.Dataset.range(200).map(lambda n: np.full(100, n))
kept = source.cache(sys.argv[1], version="v1").with_options(ps.Options(block_size=7))
print(sum(int(row[0]) for row in kept), flush=True)
"""


def _process(directory: Path, how: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(directory), how],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment,
    )


def test_killed_or_interrupted_in_the_first_pass_nothing_is_taken_for_complete(tmp_path: Path) -> None:
    killed, interrupted, full = (_process(tmp_path / how, how) for how in ("kill", "interrupt", "full"))
    assert killed.communicate()[0] == ""
    assert killed.returncode == -signal.SIGKILL
    assert "KeyboardInterrupt" in interrupted.communicate()[1]
    assert _entries(tmp_path / "interrupt") == []
    assert "WriteError" in (told := full.communicate()[1])
    assert "cannot write what is kept; got File too large; nothing of it stays behind" in told
    assert _entries(tmp_path / "full") == []
    left = _entries(tmp_path / "kill")
    assert len(left) == 2
    assert all(name.startswith(".writing-") for name in left)
    assert _numbers(_stream().cache(tmp_path / "kill")) == list(range(12))
    assert len(_entries(tmp_path / "kill")) == 1


def test_two_processes_at_once_both_end_right(tmp_path: Path) -> None:
    both = [_process(tmp_path, "meet") for _ in range(2)]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
    assert [name.count("lock") for name in _entries(tmp_path)].count(1) == 2
    outputs = [process.communicate("\n") for process in both]
    assert [out for out, _ in outputs] == [f"{sum(range(200))}\n"] * 2
    assert len(_entries(tmp_path)) == 1
    third = _process(tmp_path, "kill")  # which never comes to the element that would end it
    assert third.communicate()[0] == f"{sum(range(200))}\n"
