"""Every source and verb by name, each as a small pipeline. All suites of this folder run over it: add a name, and the
new thing is held to every law.

A case builds its pipeline anew at each call, from nothing but the test files. The functions here stand for what users
write: known to be pure, or not (`logged` appends to a list, so it runs on one worker, in order).
"""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import numpy as np

import penstock as ps
from penstock import Dataset, Options, Spec

Build = Callable[[Path], Dataset]


@dataclass(frozen=True)
class Case:
    """One pipeline and what is known of it.

    streams: it is not driven by indices (so no `ds[i]`, no state), by the verb named. varies: epochs differ.
    endless: only the first `limit` elements are looked at. ragged: shapes differ from element to element, so the
    spec of the first says too much. uncounted: how many there are is known only by reading. warns: a
    PenstockWarning is part of it. once: each element comes once in any order. alone: not to be opened by a function.
    """

    name: str
    build: Build
    streams: str = ""
    varies: bool = False
    endless: bool = False
    ragged: bool = False
    uncounted: bool = False
    warns: bool = False
    once: bool = True
    alone: bool = False

    @property
    def limit(self) -> int | None:
        return 30 if self.endless else None

    def __str__(self) -> str:
        return self.name


CASES: dict[str, Case] = {}


def case(name: str, build: Build, **known: Any) -> None:
    """Enter a pipeline under its name."""
    assert name not in CASES, name
    CASES[name] = Case(name, build, **known)


# --- what users write -------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    image: np.ndarray
    label: int


Pair = namedtuple("Pair", "left right")


def double(x: Any) -> Any:
    return x * 2


def add_one(x: Any) -> Any:
    return x + 1


def is_even(x: Any) -> bool:
    return bool(x % 2 == 0)


def logged(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function`, not known to be pure because of a list it appends to."""
    log: list[Any] = []

    def call(x: Any) -> Any:
        log.append(x)
        return function(x)

    return call


def reusing() -> Callable[[Any], np.ndarray]:
    """A function that fills and returns the same array every time."""
    out = np.zeros(3, dtype=np.int64)

    def call(x: Any) -> np.ndarray:
        out[:] = x
        return out

    return call


def nested(x: Any) -> dict[str, Any]:
    return {"pair": (x, x * 0.5), "more": {"text": str(x), "raw": str(x).encode(), "row": np.array([x, x])}}


def ragged(x: Any) -> np.ndarray:
    return np.arange(x % 4 + 1)


def odd_fails(x: Any) -> Any:
    if x % 2:
        raise ValueError(f"odd: {x}")
    return x


def noisy(x: Any, rng: ps.Rng) -> tuple[Any, Any, Any]:
    return x, rng.integers(1000), rng.normal()


def augmented(image: np.ndarray) -> np.ndarray:
    return ps.image.random_crop(ps.image.random_flip_left_right(image), (3, 3, 3))


def examples() -> Dataset:
    """Serialized Examples; every third lacks one of its features."""
    values = [
        {"id": n, "words": [b"w%d" % k for k in range(n % 3)]} | ({"pair": [n * 0.5, 1.0]} if n % 3 else {})
        for n in range(11)
    ]
    return Dataset.from_tensor_slices(np.array([ps.io.serialize_example(value) for value in values], dtype=object))


PAIR_OF_FLOATS = ps.io.FixedLenFeature([2], np.float32)
FEATURES = {
    "id": ps.io.FixedLenFeature([], np.int64),
    "pair": ps.io.FixedLenFeature([2], np.float32, [-1.0, -2.0]),
    "words": ps.io.VarLenFeature(bytes),
}
FIXED = {name: FEATURES[name] for name in ("id", "pair")}

fibonacci = (np.int64(0), np.int64(1))
FLOATS = np.array([0.0, -0.0, np.nan, 1.5, -np.nan, 1.5, np.inf], dtype=np.float32)


def two_before(state: Any, element: Any) -> Any:
    return (state[1], state[0] + state[1]), {"sum": element[0] + element[1], "state": state}


def count_in_place(state: np.ndarray, x: Any) -> Any:
    """A function that fills and returns the state it is given."""
    state[0] += 1
    state[1] += x
    return state, state


def noisy_walk(state: Any, x: Any) -> Any:
    return state + 1, (x, state, ps.image.random_brightness(np.full((1, 1, 3), 0.5, dtype=np.float32), 0.2))


def noisy_nest(element: Any, rng: ps.Rng) -> Any:
    return element["pair"], rng.random()


def element_of(d: dict[str, Any]) -> dict[str, Any]:
    return {"pair": d["pair"], "text": d["more"]["text"]}


def third(x: Any) -> Any:
    return x % 3


def drawn(x: Any, rng: ps.Rng) -> tuple[Any, Any]:
    """Draws that compile: numbers, arrays, a condition."""
    return np.where(rng.random() < 0.5, x, x * 2.0), rng.integers(9, size=2) + rng.choice(5)


def image_and_label(image: np.ndarray) -> tuple[np.ndarray, Any]:
    return ps.image.adjust_brightness(image, 0.1), np.sum(image)


def label_of(image: np.ndarray, label: Any) -> Any:
    return label


def one_hot(d: dict[str, Any]) -> tuple[Any, Any]:
    return d["image"], ps.one_hot(d["label"], 17)


def counting(count: int) -> Callable[[], Iterator[int]]:
    def generate() -> Iterator[int]:
        yield from range(count)

    return generate


def reused_rows() -> Iterator[tuple[np.ndarray, int]]:
    """A generator that yields the same array, filled anew."""
    row = np.zeros(4)
    for number in range(13):
        row[:] = number
        yield row, number


def reused_dict() -> Iterator[dict[str, Any]]:
    """A generator that yields the same dict, and a list that it changes."""
    element: dict[str, Any] = {"n": 0, "items": [0, 0]}
    for number in range(9):
        element["n"] = number
        element["items"][1] = number
        yield element


def ragged_rows() -> Iterator[np.ndarray]:
    for number in range(11):
        yield np.full(number % 3, number, dtype=np.float32)


class Squares:
    """A map-style dataset with `__getitem__` only."""

    def __init__(self, count: int = 21) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"n": index, "row": np.arange(3) * index * index}


class Thirds(list[int]):
    """Numbers, of which every third cannot be read."""

    def __init__(self) -> None:
        super().__init__(range(30))

    def __getitem__(self, index: Any) -> Any:
        if index % 3 == 2:
            raise OSError("bad sector")
        return index


class Flaky:
    """A function that breaks off `times` times on each element before it gives its result."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.calls: dict[int, int] = {}

    def __call__(self, x: Any) -> Any:
        self.calls[int(x)] = self.calls.get(int(x), 0) + 1
        if self.calls[int(x)] % (self.times + 1):
            raise ConnectionResetError("again")
        return x * 3, float(ps.image.random_brightness(np.full((1, 1, 3), 0.5, dtype=np.float32), 0.2)[0, 0, 0])


class Fetched(Squares):
    """The same, with `__getitems__` too."""

    def __getitems__(self, indices: list[int]) -> list[dict[str, Any]]:
        return [self[index] for index in indices]


def upto(n: Any) -> Dataset:
    return Dataset.range(n % 4)


def tens(n: Any) -> Dataset:
    return Dataset.range(n * 10, n * 10 + n % 4 + 1)


def tens_from(a: Any, b: Any) -> Dataset:
    return Dataset.range(a * 10, a * 10 + b)


def generated(n: Any) -> Dataset:
    return Dataset.from_generator(lambda: iter(range(n * 10, n * 10 + 3)), output_signature=Spec((), np.int64))


def characters(path: str) -> Dataset:
    """The characters of a file, read when the dataset is opened."""
    return Dataset.from_generator(lambda: iter(Path(path).read_text()), output_signature=Spec((), str))


def grouped(key: Any, window: Dataset) -> Dataset:
    return window.map(lambda x: x * 100 + key)


def numbers(count: int = 23) -> Dataset:
    return Dataset.range(count)


def stream(count: int = 23) -> Dataset:
    return Dataset.from_generator(counting(count), output_signature=Spec((), np.int64))


def sequences() -> Dataset:
    """Two sequences an element, of lengths of their own."""
    return numbers().map(lambda x: {"x": np.arange(x % 7 + 1, dtype=np.int32), "y": np.full(x % 4, x)})


def saved(files: Path) -> Dataset:
    """Elements that another pipeline has saved."""
    path = files / "kept" / "saved"
    if not path.exists():
        numbers().map(nested).save(path)
    return Dataset.load(path).map(element_of)


def images(count: int = 17, side: int = 5) -> dict[str, Any]:
    pixels = np.arange(count * side * 4 * 3, dtype=np.uint32) * 7 % 251
    return {"image": pixels.astype(np.uint8).reshape(count, side, 4, 3), "label": np.arange(count, dtype=np.int32)}


def jpegs() -> np.ndarray:
    """Files of unequal size; each fifth is cut short."""
    files = [ps.io.encode_jpeg(np.full((24 + n, 40 - n, 3), 9 * n, dtype=np.uint8)) for n in range(17)]
    files = [data[: -len(data) // 99] if n % 5 == 4 else data for n, data in enumerate(files)]
    return np.array(files, dtype=object)


def decoded(contents: bytes) -> np.ndarray:
    image = ps.io.decode_jpeg(contents, 3, allow_truncated=True, apply_exif_orientation=True)
    return ps.image.random_hue(ps.image.random_resized_crop(image, (4, 5)), 0.2)


def image_only() -> Dataset:
    return Dataset.from_tensor_slices(images()["image"])


def wide(count: int = 19) -> Dataset:
    """Rows above the size from which rows are kept apart."""
    return Dataset.from_tensor_slices(np.arange(count * 700, dtype=np.float64).reshape(count, 700))


# --- sources ----------------------------------------------------------------------------------------------------------

case("slices_numbers", lambda _: Dataset.from_tensor_slices(np.arange(23, dtype=np.int32)))
case("slices_list", lambda _: Dataset.from_tensor_slices([[1, 2], [3, 4], [5, 6]]))
case("slices_images", lambda _: Dataset.from_tensor_slices(images()))
case("slices_wide", lambda _: wide())
case("slices_strings", lambda _: Dataset.from_tensor_slices(["a", "", "ccc", "d\0d", "é"]))
case("slices_bytes", lambda _: Dataset.from_tensor_slices(([b"a\0", b"", b"\0\0c", b"dd"], [1, 2, 3, 4])))
case("slices_text_rows", lambda _: Dataset.from_tensor_slices([["a", "bb"], ["ccc", ""]]))
case("slices_strided", lambda _: Dataset.from_tensor_slices(np.arange(120).reshape(12, 10)[::2, ::3]))
case("slices_transposed", lambda _: Dataset.from_tensor_slices(np.arange(120).reshape(12, 10).T).batch(3))
case("slices_empty_rows", lambda _: Dataset.from_tensor_slices(np.zeros((9, 0), dtype=np.float32)), once=False)
case("slices_none", lambda _: Dataset.from_tensor_slices(np.zeros((0, 3), dtype=np.float32)))
case(
    "slices_dtypes",
    lambda _: Dataset.from_tensor_slices(
        (
            np.array([True, False, True]),
            np.array([1, 2, 3], dtype=np.float16),
            np.array([1j, 2, 3]),
            np.array(["2020-01-01", "2021-01-01", "NaT"], dtype="M8[D]"),
            np.array([1, 2, 3], dtype=np.uint64),
        )
    ),
)
case(
    "slices_nested",
    lambda _: Dataset.from_tensor_slices({"a": (np.arange(7), np.ones((7, 2))), "b": {"c": list("abcdefg")}}),
)
case("slices_named", lambda _: Dataset.from_tensor_slices(Sample(np.ones((5, 2)), np.arange(5))))
case("tensors", lambda _: Dataset.from_tensors({"x": np.arange(6).reshape(2, 3), "s": "text", "n": 1, "b": b"\0"}))
case("range", lambda _: Dataset.range(23))
case("range_step", lambda _: Dataset.range(20, -3, -4))
case("range_dtype", lambda _: Dataset.range(2, 30, 3, output_type=np.float32))
case("range_none", lambda _: Dataset.range(5, 2))
case("counter", lambda _: Dataset.counter(), endless=True)
case("counter_down", lambda _: Dataset.counter(7, -3, np.int32).map(double).batch(4), endless=True)
case("counter_wraps", lambda _: Dataset.counter(250, 3, np.uint8).take(9))
case("counter_float", lambda _: Dataset.counter(0.5, 0.25, np.float32).skip(3)[:11])
case("random", lambda _: Dataset.random(seed=4), endless=True)
case("random_anew", lambda _: Dataset.random(rerandomize_each_iteration=True).batch(5), endless=True, varies=True)
case("random_repeated", lambda _: Dataset.random(rerandomize_each_iteration=True).take(9).repeat(2), varies=True)
case("generator", lambda _: stream(), streams="from_generator")
case("generator_none", lambda _: stream(0), streams="from_generator")
case(
    "generator_reused_array",
    lambda _: Dataset.from_generator(reused_rows, output_signature=(Spec((4,), np.float64), Spec((), np.int64))),
    streams="from_generator",
)
case(
    "generator_reused_dict",
    lambda _: Dataset.from_generator(
        reused_dict, output_signature={"n": Spec((), np.int64), "items": Spec((2,), np.int64)}
    ),
    streams="from_generator",
)
case(
    "generator_ragged",
    lambda _: Dataset.from_generator(ragged_rows, output_signature=Spec((None,), np.float32)),
    streams="from_generator",
    ragged=True,
    once=False,
)
case(
    "generator_args",
    lambda _: Dataset.from_generator(
        lambda low, high: iter(range(low, high)), args=(3, 12), output_signature=Spec((), np.int64)
    ),
    streams="from_generator",
)
case("source", lambda _: Dataset.from_source(Squares()))
case("source_fetched", lambda _: Dataset.from_source(Fetched()))
case("source_threads", lambda _: Dataset.from_source(Squares(), num_parallel_calls=3))
case("source_list", lambda _: Dataset.from_source([(n, str(n)) for n in range(14)]))
case("source_batched", lambda _: Dataset.from_source(Fetched()).shuffle().batch(4), varies=True)
case("folder", lambda files: Dataset.from_folder(files / "classes"))
case("folder_extensions", lambda files: Dataset.from_folder(files / "classes", extensions=[".TXT"]))
case("folder_read", lambda files: Dataset.from_folder(files / "classes").map(lambda p, n: (ps.io.read_file(p), n)))
case("files", lambda files: Dataset.list_files(str(files / "classes" / "**" / "*.txt")), varies=True)
case("files_sorted", lambda files: Dataset.list_files(str(files / "classes" / "*" / "*"), shuffle=False))
case("array_file", lambda files: Dataset.from_array_file(files / "rows.npy"))
case("array_file_raw", lambda files: Dataset.from_array_file(files / "tokens.bin", np.uint16).skip(990))
case("array_file_shaped", lambda files: Dataset.from_array_file(files / "tokens.bin", "u1", (-1, 2)).take(21).batch(4))
case("array_file_swapped", lambda files: Dataset.from_array_file(files / "swapped.npy").shuffle().batch(4), varies=True)
case("tokens", lambda files: Dataset.tokens(files / "tokens.bin", "uint16", 50).batch(4))
case(
    "tokens_shuffled", lambda files: Dataset.tokens(files / "tokens.bin", "u2", 65, 32).shuffle().batch(4), varies=True
)
case("tokens_mapped", lambda files: Dataset.tokens(files / "tokens.bin", "u2", 80).map(lambda t: (t[:-1], t[1:])))
case("lines", lambda files: ps.TextLineDataset([files / "a.txt", files / "b.txt"]), uncounted=True)
case(
    "lines_shuffled",
    lambda files: ps.TextLineDataset([files / "a.txt", files / "b.txt"]).map(len).shuffle(3).batch(4),
    uncounted=True,
    varies=True,
)
case(
    "lines_repeated",
    lambda files: ps.TextLineDataset([files / "b.txt", files / "a.txt"], encoding="utf-8").repeat(2).shuffle(),
    uncounted=True,
    varies=True,
    once=False,
)
case(
    "words",
    lambda files: ps.TextLineDataset([files / "a.txt", files / "b.txt"]).map(
        lambda line: ps.text.split(ps.text.lower(line), "e")
    ),
    uncounted=True,
    ragged=True,
    once=False,
)
case(
    "words_bucketed",
    lambda files: (
        ps.TextLineDataset([files / "a.txt", files / "b.txt"])
        .map(lambda line: ps.text.hash_bucket(ps.text.split(line, "e"), 9))
        .bucket_by_sequence_length(len, [2, 3], [2, 3, 2], padding_values=-1)
    ),
    streams="bucket_by_sequence_length",
    ragged=True,
    once=False,
)
case("lines_endless", lambda files: ps.TextLineDataset(files / "a.txt").repeat(), endless=True, once=False)
case("lines_sliced", lambda files: ps.TextLineDataset(files / "a.txt")[12:2:-3].batch(2))
case(
    "lines_text",
    lambda files: ps.TextLineDataset([files / "a.txt", files / "b.txt"], encoding="utf-8", buffer_size=7).batch(4),
    uncounted=True,
)
case(
    "lines_packed",
    lambda files: ps.TextLineDataset(files / "a.txt.gz", "GZIP").shuffle(5).repeat(2),
    streams="TextLineDataset",
    varies=True,
    once=False,
)
case(
    "lines_random",
    lambda files: ps.TextLineDataset(files / "a.txt").random_map(lambda line, rng: (line, rng.random())),
    uncounted=True,
    varies=True,
)
case(
    "lines_in_turns",
    lambda files: ps.TextLineDataset([files / "a.txt", files / "b.txt"], num_parallel_reads=2),
    streams="interleave",
)
case(
    "lines_of_names",
    lambda files: ps.TextLineDataset(Dataset.list_files(str(files / "[ab].txt"), shuffle=False)).batch(3),
    streams="flat_map",
)
case("records", lambda files: ps.FixedLengthRecordDataset([files / "records.bin"] * 2, 3, 4, 3), once=False)
case(
    "records_shuffled",
    lambda files: ps.FixedLengthRecordDataset(files / "records.bin", 3, 4, 3).shuffle().batch(4),
    varies=True,
)
case(
    "records_packed",
    lambda files: ps.FixedLengthRecordDataset(files / "a.txt.gz", 2, 3, 3, None, "GZIP"),
    streams="FixedLengthRecordDataset",
    once=False,
)
case(
    "tfrecords",
    lambda files: ps.TFRecordDataset([files / "a.tfrecord", files / "b.tfrecord"], None, 50).map(len).batch(4),
    uncounted=True,
    once=False,
)
case(
    "tfrecords_shuffled",
    lambda files: ps.TFRecordDataset([files / "b.tfrecord", files / "a.tfrecord"]).shuffle().batch(4),
    uncounted=True,
    varies=True,
)
case("tfrecords_sharded", lambda files: ps.TFRecordDataset(files / "a.tfrecord").shard(3, 1), uncounted=True)
case(
    "tfrecords_packed",
    lambda files: ps.TFRecordDataset(files / "a.tfrecord.gz", "GZIP").shuffle(5),
    streams="TFRecordDataset",
    varies=True,
)
case(
    "tfrecords_in_turns",
    lambda files: ps.TFRecordDataset([files / "a.tfrecord", files / "b.tfrecord"], num_parallel_reads=2),
    uncounted=True,
)
case(
    "rows",
    lambda files: ps.CsvDataset(files / "rows.csv", [int, np.float32, bytes], header=True).batch(4),
    streams="CsvDataset",
)
case("rows_skipped", lambda files: ps.CsvDataset(files / "bad.csv", [int, [0]], on_error="skip"), streams="CsvDataset")
case("parquet", lambda files: Dataset.from_parquet(files / "table.parquet", ["n", "t", "l"]), ragged=True)
case(
    "parquet_shuffled",
    lambda files: (
        Dataset.from_parquet(files / "table.parquet", ["n", "t"]).map(lambda e: e).take(20).shuffle(6).batch(3)
    ),
    varies=True,
)
case(
    "parquet_nulls",
    lambda files: Dataset.from_parquet(files / "table.parquet", ["hole"], on_error="skip"),
    streams="from_parquet",
)
case("arrow_shuffled", lambda files: Dataset.from_arrow(files / "table.arrow", ["n"]).shuffle().batch(4), varies=True)
case("tar", lambda files: Dataset.from_tar([files / "a.tar", files / "b.tar"]), uncounted=True)
case(
    "tar_shuffled",
    lambda files: Dataset.from_tar(files / "a.tar", ["x"]).shuffle(3).batch(4),
    uncounted=True,
    varies=True,
)
case("tar_packed", lambda files: Dataset.from_tar(files / "a.tar.gz").shuffle(4), streams="from_tar", varies=True)
case("json_lines", lambda files: Dataset.from_json_lines(files / "a.jsonl").map(lambda e: e["n"]), uncounted=True)
case(
    "json_lines_shuffled",
    lambda files: Dataset.from_json_lines(files / "a.jsonl").repeat(2).shuffle().batch(4),
    uncounted=True,
    varies=True,
    once=False,
)
case("zip", lambda _: Dataset.zip(numbers(), Dataset.range(100, 110)))
case("zip_nested", lambda _: Dataset.zip({"a": numbers(), "b": (image_only(), numbers(19).map(double))}))
case("zip_self", lambda _: numbers().shuffle().apply(lambda ds: Dataset.zip(ds, ds)), varies=True)
case("zip_streams", lambda _: Dataset.zip(stream(11), stream(13)), streams="from_generator")
case("zip_mixed", lambda _: Dataset.zip(numbers(20), stream(13).map(double)), streams="from_generator")
case("zip_serial", lambda _: Dataset.zip(numbers(), numbers().map(logged(double)).batch(2)))
case("concatenate", lambda _: numbers(7).concatenate(Dataset.range(50, 59)))
case("concatenate_shapes", lambda _: wide(5).batch(2).concatenate(wide(7).batch(3)), ragged=True, once=False)
case(
    "concatenate_streams",
    lambda _: stream(5).concatenate(numbers(4)).concatenate(stream(0)),
    streams="from_generator",
    once=False,
)
case("concatenate_shuffled", lambda _: numbers(9).concatenate(Dataset.range(50, 59)).shuffle(), varies=True)

# --- element by element -----------------------------------------------------------------------------------------------

case("map", lambda _: numbers().map(double))
case("map_lambda", lambda _: numbers().map(lambda x: x * x - 1))
case("map_chain", lambda _: numbers().map(double).map(add_one).map(nested))
case("map_serial", lambda _: numbers().map(logged(double)))
case("map_serial_reusing", lambda _: numbers().map(reusing()))
case("map_mixed_chain", lambda _: numbers().map(double).map(logged(add_one)).map(double).batch(4))
case("map_serial_shuffled", lambda _: numbers().map(logged(double)).shuffle().batch(4), varies=True)
case("map_sequential", lambda _: numbers().map(double, num_parallel_calls=None))
case("map_four", lambda _: numbers().map(logged(double), num_parallel_calls=4))
case("map_threads", lambda _: numbers().map(logged(double), executor="threads"))
case("map_splat", lambda _: Dataset.zip(numbers(), numbers(30)).map(lambda a, b: a + b))
case(
    "map_dict",
    lambda _: Dataset.from_tensor_slices(images()).map(lambda d: (d["image"].astype(np.float32), d["label"])),
)
case("map_named", lambda _: numbers().map(lambda x: Pair(x, np.array([x]))))
case("map_nested", lambda _: numbers().map(nested))
case("map_nest_of_one", lambda _: numbers().map(lambda x: (x, {"one": x})).batch(4).unbatch(), streams="unbatch")
case("map_list", lambda _: numbers().map(lambda x: [x, 1, 2]))
case("map_text", lambda _: numbers().map(lambda x: ("é" * (x % 3), b"\0" * (x % 4))), once=False)
case("map_ragged", lambda _: numbers().map(ragged), ragged=True, once=False)
case("map_ragged_wide", lambda _: numbers(9).map(lambda x: np.full((300 + x % 2, 2), x)), ragged=True)
case("map_example", lambda _: examples().map(lambda r: ps.io.parse_single_example(r, FEATURES)), ragged=True)
case("map_example_batch", lambda _: examples().batch(4).map(lambda r: ps.io.parse_example(r, FEATURES)), ragged=True)
case("map_example_rows", lambda _: examples().map(lambda r: ps.io.parse_single_example(r, FIXED)).batch(8))
case(
    "map_example_skip",
    lambda _: (
        examples()
        .map(lambda r: ps.io.parse_single_example(r, {"pair": PAIR_OF_FLOATS}), on_error="skip")
        .shuffle()
        .batch(2)
    ),
    streams="map",
    varies=True,
)
case("map_stream", lambda _: stream().map(double).map(logged(add_one)), streams="from_generator")
case("map_declared", lambda _: numbers().map(ragged, output_signature=Spec((None,), np.int64)), once=False)
case("map_skip", lambda _: numbers().map(odd_fails, on_error="skip"), streams="map")
case("map_skip_all", lambda _: Dataset.from_tensor_slices([1, 3, 5]).map(odd_fails, on_error="skip"), streams="map")
case("map_skip_batch", lambda _: numbers().map(odd_fails, on_error="skip").batch(5), streams="map")
case(
    "map_skip_random", lambda _: numbers().map(odd_fails, on_error="skip").random_map(noisy), streams="map", varies=True
)
case("map_retry", lambda _: numbers().map(Flaky(2), on_error=ps.Retry(3, backoff=0)), varies=True)
case(
    "map_retry_skip",
    lambda _: numbers().map(odd_fails, on_error=ps.Retry(1, 0, on=ValueError, then="skip")).batch(3),
    streams="map",
)
case(
    "ignore_errors", lambda _: numbers().map(odd_fails).batch(3).ignore_errors().map(double), streams="map", once=False
)
case("ignore_errors_of_source", lambda _: Dataset.from_source(Thirds()).ignore_errors(), streams="from_source")
case(
    "ignore_errors_everywhere",
    lambda _: (
        Dataset.from_source(Thirds())
        .filter(lambda x: odd_fails(x) >= 0)
        .random_map(noisy)
        .scan(0, lambda s, x: (s + 1, odd_fails(s % 5 // 4) + x[0]))
        .ignore_errors()
    ),
    streams="from_source",
)
case(
    "ignore_errors_nested",
    lambda _: numbers(9).flat_map(lambda x: numbers(odd_fails(x)).map(lambda y: 6 // int(y % 3))).ignore_errors(),
    streams="flat_map",
    once=False,
)
case("ignore_errors_none", lambda _: numbers().map(double).ignore_errors(), streams="map")
case("random_map", lambda _: numbers().random_map(noisy), varies=True)
case("random_map_seeded", lambda _: numbers().random_map(noisy, seed=3), varies=True)
case("random_map_shuffled", lambda _: numbers().shuffle().random_map(noisy).batch(4), varies=True)
case("random_map_repeated", lambda _: numbers(7).random_map(noisy).repeat(3), varies=True)
case("random_map_stream", lambda _: stream().random_map(noisy), streams="from_generator", varies=True)
case("random_map_numpy", lambda _: numbers().random_map(lambda x, rng: rng.numpy().gamma(2.0, size=2)), varies=True)
case(
    "random_map_zip",
    lambda _: Dataset.zip(numbers(), image_only()).random_map(lambda a, b, rng: (a, rng.random())),
    varies=True,
)
case("random_map_batch", lambda _: numbers().batch(4).random_map(lambda x, rng: x + rng.random(len(x))), varies=True)
case("random_map_unbatch", lambda _: numbers().batch(4).unbatch().random_map(noisy), streams="unbatch", varies=True)
case("random_map_concatenate", lambda _: numbers(5).concatenate(numbers(6)).random_map(noisy), varies=True)
case("random_images", lambda _: image_only().map(augmented), varies=True, once=False)
case("random_images_batch", lambda _: image_only().shuffle().map(augmented).batch(4), varies=True)
case("random_map_compiled", lambda _: numbers().random_map(drawn).batch(4), varies=True)
case(
    "random_map_compiled_twice",
    lambda _: numbers().random_map(drawn).random_map(lambda x, y, rng: (x + rng.random(), y)),
    varies=True,
)
case(
    "jpegs_in_one_pass",
    lambda _: Dataset.from_tensor_slices(jpegs()).shuffle().map(decoded).batch(4),
    varies=True,
)
case("map_joined_batches", lambda _: numbers().batch(4).map(double).map(add_one))
case("map_joined", lambda _: image_only().map(image_and_label).map(label_of))
case(
    "map_joined_random",
    lambda _: (
        image_only().map(augmented).map(image_and_label).random_map(lambda a, b, rng: (a, b * rng.uniform())).batch(3)
    ),
    varies=True,
)
case("map_joined_apart", lambda _: numbers().map(double).map(lambda x: x if x > 9 else -x).map(add_one))
case(
    "map_ragged_compiled",
    lambda _: numbers().map(ragged).map(lambda x: x * x.shape[0]).map(np.flip),
    ragged=True,
    once=False,
)
case("mixup", lambda _: Dataset.from_tensor_slices(images()).map(one_hot).batch(4).map(ps.image.mixup), varies=True)
case(
    "cutmix",
    lambda _: Dataset.from_tensor_slices(images()).map(one_hot).shuffle().batch(4).map(ps.image.cutmix),
    varies=True,
)
case("rand_augment", lambda _: image_only().map(ps.image.rand_augment).batch(4), varies=True)
case("filter", lambda _: numbers().filter(is_even), streams="filter")
case("filter_none", lambda _: numbers().filter(lambda x: False), streams="filter")
case("filter_all", lambda _: numbers().filter(lambda x: x >= 0), streams="filter")
case("filter_serial", lambda _: numbers().filter(logged(is_even)).map(double), streams="filter")
case("filter_batch", lambda _: numbers().map(double).filter(lambda x: x % 3 != 0).batch(4), streams="filter")
case("filter_splat", lambda _: Dataset.zip(numbers(), numbers()).filter(lambda a, b: a + b > 10), streams="filter")
case("filter_skip", lambda _: numbers().filter(lambda x: odd_fails(x) > 4, on_error="skip"), streams="filter")
case("filter_random", lambda _: numbers().filter(is_even).random_map(noisy).batch(3), streams="filter", varies=True)
case("enumerate", lambda _: image_only().enumerate())
case("enumerate_start", lambda _: numbers().map(double).enumerate(start=7).batch(4))
case("enumerate_stream", lambda _: stream().filter(is_even).enumerate(start=-2), streams="from_generator")
case("enumerate_shuffled", lambda _: numbers().shuffle().enumerate(), varies=True)

# --- in order, with a memory ------------------------------------------------------------------------------------------

case("scan", lambda _: numbers().scan(0, lambda total, x: (total + x, total)), streams="scan")
case("scan_nested", lambda _: Dataset.zip(numbers(), stream()).scan(fibonacci, two_before), streams="from_generator")
case("scan_arrays", lambda _: image_only().scan(np.zeros(3), lambda s, x: (s + x[0, 0], s)).batch(4), streams="scan")
case("scan_in_place", lambda _: numbers().scan(np.zeros(2), count_in_place).map(add_one), streams="scan", once=False)
case("scan_random", lambda _: numbers().scan(0, noisy_walk).repeat(2), streams="scan", varies=True)
case("scan_none", lambda _: numbers(0).scan(0, lambda total, x: (total + x, total)), streams="scan")
case("take_while", lambda _: numbers().map(double).take_while(lambda x: x < 20), streams="take_while")
case("take_while_serial", lambda _: numbers().take_while(logged(lambda x: bool(x < 9))).batch(4), streams="take_while")
case("take_while_all", lambda _: stream().take_while(lambda x: x >= 0), streams="from_generator")
case("take_while_never", lambda _: numbers().take_while(lambda x: x > 0), streams="take_while")
case("take_while_endless", lambda _: numbers().repeat().skip(3).take_while(lambda x: x > 1), streams="take_while")
case("take_while_repeated", lambda _: numbers().take_while(lambda x: x < 5).repeat(3), streams="take_while", once=False)
case("unique", lambda _: numbers().map(lambda x: x % 7).unique(), streams="unique")
case(
    "unique_floats",
    lambda _: Dataset.from_tensor_slices(FLOATS).repeat(2).unique(),
    streams="unique",
    once=False,  # of equal ones with other bytes, the first that it sees
)
case("unique_text", lambda _: Dataset.from_tensor_slices(list("abcabdxa")).unique().batch(2), streams="unique")
case("unique_nested", lambda _: numbers().map(lambda x: nested(x % 5)).unique(), streams="unique")
case("unique_ragged", lambda _: numbers().map(ragged).unique(), streams="unique", ragged=True)
case("unique_stream", lambda _: stream().batch(2).repeat(2).unique(), streams="from_generator")
case(
    "resample",
    lambda _: numbers(99).rejection_resample(third, (0.5, 0.5, 0)),
    streams="rejection_resample",
    varies=True,
    once=False,  # what it keeps follows the shares seen before, so the order
)
case(
    "resample_known",
    lambda _: Dataset.zip(numbers(99), stream(99)).rejection_resample(
        lambda a, _: logged(third)(a), [0.2, 0.2, 0.6], [1 / 3] * 3, seed=7
    ),
    streams="from_generator",
    varies=True,
)
case("assert_cardinality", lambda _: numbers().map(double).assert_cardinality(23).batch(4))
case("assert_cardinality_filter", lambda _: numbers().filter(is_even).assert_cardinality(12), streams="filter")
case(
    "assert_cardinality_stream",
    lambda _: stream().assert_cardinality(23).repeat(2),
    streams="from_generator",
    once=False,
)
case(
    "assert_cardinality_endless",
    lambda _: stream(5).repeat().filter(is_even).assert_cardinality(-1),
    streams="from_generator",
    endless=True,
    once=False,
)

# --- several by turns -------------------------------------------------------------------------------------------------

case(
    "sample",
    lambda _: Dataset.sample_from_datasets([numbers(9), Dataset.range(50, 70), numbers(0)], [0.2, 0.5, 0.3]),
    streams="sample_from_datasets",
    varies=True,
)
case(
    "sample_stop",
    lambda _: Dataset.sample_from_datasets(
        [numbers(9).shuffle(), Dataset.range(50, 70).filter(is_even)], seed=3, stop_on_empty_dataset=True
    ).batch(3),
    streams="filter",
    varies=True,
)
case(
    "sample_fixed",
    lambda _: Dataset.sample_from_datasets(
        [numbers(9), stream(5).map(logged(double))], [1, 3], rerandomize_each_iteration=False
    ).repeat(2),
    streams="from_generator",
    once=False,
)
case(
    "sample_endless",
    lambda _: Dataset.sample_from_datasets([numbers(9).repeat(), Dataset.range(50, 70)]),
    streams="sample_from_datasets",
    varies=True,
    endless=True,
    once=False,
)
case(
    "sample_by_dataset",
    lambda _: Dataset.sample_from_datasets(
        [numbers(), Dataset.range(50, 70)], numbers().map(lambda x: np.array([x + 1.0, 5.0])), seed=1
    ),
    streams="sample_from_datasets",
    varies=True,
)
case(
    "choose",
    lambda _: Dataset.choose_from_datasets(
        [numbers(5), Dataset.range(50, 57), numbers(1)], Dataset.range(3).repeat(6), stop_on_empty_dataset=False
    ),
    streams="choose_from_datasets",
    once=False,
)
case(
    "choose_stop",
    lambda _: Dataset.choose_from_datasets(
        [stream().map(nested), Dataset.range(50, 57).map(nested)], numbers().map(lambda x: x % 3 % 2)
    ).random_map(noisy_nest),
    streams="from_generator",
    varies=True,
)
case("mix", lambda _: Dataset.mix([numbers(), Dataset.range(100, 110)], [0.7, 0.3]))
case("mix_even", lambda _: Dataset.mix([image_only(), image_only().map(double), image_only().map(add_one)]).batch(4))
case(
    "mix_shuffled", lambda _: Dataset.mix([numbers().shuffle(), Dataset.range(90, 99)]).shuffle().batch(4), varies=True
)
case(
    "mix_random",
    lambda _: Dataset.mix([numbers().random_map(noisy), stream().random_map(noisy)], [2, 1]),
    streams="from_generator",
    varies=True,
)
case(
    "mix_serial",
    lambda _: Dataset.mix([numbers(9).map(logged(double)), Dataset.range(50, 70), numbers()], [1, 2, 0])[3:20:2],
)
case("mix_endless", lambda _: Dataset.mix([numbers(9).repeat(), numbers(4).repeat()], [3, 2]), endless=True, once=False)
case("mix_repeated", lambda _: Dataset.mix([numbers(9), numbers(4).repeat()], [3, 2]).repeat(2), once=False)
case("mix_none", lambda _: Dataset.mix([numbers(9), numbers(0)]), once=False)

# --- grouping ---------------------------------------------------------------------------------------------------------

case("batch", lambda _: numbers().batch(4))
case("batch_drop", lambda _: numbers().batch(4, drop_remainder=True))
case("batch_exact", lambda _: numbers(24).batch(4))
case("batch_large", lambda _: numbers().batch(100))
case("batch_large_drop", lambda _: numbers().batch(100, drop_remainder=True))
case("batch_one", lambda _: image_only().batch(1))
case("batch_images", lambda _: Dataset.from_tensor_slices(images()).batch(4))
case("batch_wide", lambda _: wide().map(add_one).batch(4))
case("batch_nested", lambda _: numbers().map(nested).batch(4))
case("batch_text", lambda _: Dataset.from_tensor_slices((["a", "bb", "", "d"], [b"\0", b"b", b"", b"d\0"])).batch(3))
case("batch_twice", lambda _: numbers(24).batch(4).batch(3))
case("batch_map_batch", lambda _: numbers(24).batch(4).map(double).batch(3))
case("batch_serial", lambda _: numbers().map(logged(double)).batch(4).map(double), once=False)
case("batch_stream", lambda _: stream().batch(4), streams="from_generator")
case("batch_stream_drop", lambda _: stream().batch(4, drop_remainder=True), streams="from_generator")
case("batch_empty_rows", lambda _: Dataset.from_tensor_slices(np.zeros((9, 0))).batch(4), once=False)
case("batch_padded", lambda _: numbers().batch(4, remainder="pad"))
case("batch_padded_exact", lambda _: numbers(24).map(nested).batch(4, remainder="pad"))
case(
    "batch_padded_dict", lambda _: Dataset.from_tensor_slices(images()).shuffle().batch(4, remainder="pad"), varies=True
)
case("batch_padded_pair", lambda _: numbers(5).map(lambda x: (x, str(x))).batch(100, remainder="pad"))
case("batch_padded_stream", lambda _: stream().batch(4, remainder="pad"), streams="from_generator")
case("rebatch", lambda _: numbers().batch(4).rebatch(3), streams="rebatch", once=False)
case(
    "rebatch_cycle",
    lambda _: Dataset.from_tensor_slices(images()).batch(5).rebatch([2, 1, 4]),
    streams="rebatch",
    once=False,
)
case("rebatch_drop", lambda _: wide().batch(3).rebatch(4, drop_remainder=True), streams="rebatch", once=False)
case(
    "rebatch_rows",
    lambda _: Dataset.from_tensor_slices(np.arange(60).reshape(12, 5)).rebatch(7),
    streams="rebatch",
    once=False,
)
case("rebatch_ragged", lambda _: numbers().map(ragged).rebatch([1, 6]), streams="rebatch", once=False)
case(
    "rebatch_nested",
    lambda _: numbers().map(nested).batch(4).shuffle(3).rebatch(6),
    streams="rebatch",
    varies=True,
    once=False,
)
case("rebatch_nothing", lambda _: numbers(5).map(lambda x: np.zeros((0, 2))).rebatch(3), streams="rebatch", once=False)
case(
    "rebatch_random",
    lambda _: numbers().batch(4).rebatch(3).random_map(noisy),
    streams="rebatch",
    varies=True,
    once=False,
)
case("padded_batch", lambda _: numbers().map(ragged).padded_batch(4), once=False)
case("padded_batch_same", lambda _: image_only().padded_batch(4))
case("padded_batch_drop", lambda _: numbers().map(ragged).padded_batch(5, drop_remainder=True), once=False)
case("padded_batch_to", lambda _: numbers().map(ragged).padded_batch(4, [6], -1), once=False)
case("padded_batch_shuffled", lambda _: numbers().map(ragged).shuffle().padded_batch(4, padding_values=9), varies=True)
case("padded_batch_wide", lambda _: wide().map(lambda x: x[: int(x[0]) % 699 + 1]).padded_batch(3, [-1], 0.5))
case(
    "padded_batch_nested",
    lambda _: (
        numbers()
        .map(lambda x: {"rows": np.full((x % 3, x % 2 + 1, 2), x), "more": (ragged(x), ["a"] * (x % 3 + 1), b"b")})
        .padded_batch(4, {"more": ([5], [None], []), "rows": (None, 4, None)}, {"rows": 7, "more": (None, "-", b"")})
    ),
)
case("padded_batch_serial", lambda _: numbers().map(logged(ragged)).padded_batch(4).map(double), once=False)
case(
    "padded_batch_stream",
    lambda _: Dataset.from_generator(ragged_rows, output_signature=Spec((None,), np.float32)).padded_batch(4),
    streams="from_generator",
    once=False,
)
case(
    "padded_batch_filter",
    lambda _: numbers().filter(is_even).map(ragged).padded_batch(5, [4]),
    streams="filter",
    once=False,
)
case("padded_batch_twice", lambda _: numbers().map(ragged).padded_batch(3).padded_batch(2, padding_values=-1))
case("pack", lambda _: numbers().map(ragged).pack(7, num_packing_bins=2), streams="pack", once=False)
case("pack_best", lambda _: sequences().pack({"x": 9, "y": 12}, "best_fit", 3, (-1)), streams="pack", once=False)
case("pack_concat", lambda _: numbers().map(ragged).pack(5, "concat"), streams="pack", once=False)
case("pack_concat_long", lambda _: numbers().map(lambda x: np.arange(x)).pack(4, "concat"), streams="pack", once=False)
case(
    "pack_concat_dict",
    lambda _: stream().map(lambda x: {"a": np.arange(x % 5), "b": np.full(x % 5, 0.5)}).pack(6, "concat").batch(2),
    streams="from_generator",
    once=False,
)
case(
    "pack_shuffled",
    lambda _: sequences().shuffle().pack(20, num_packing_bins=4).batch(2).random_map(lambda d, rng: rng.random()),
    streams="pack",
    varies=True,
    once=False,
)
case("ragged_batch", lambda _: numbers().map(ragged).ragged_batch(4), once=False)
case("ragged_batch_drop", lambda _: numbers().map(ragged).ragged_batch(5, True, np.int32), once=False)
case("ragged_batch_shuffled", lambda _: numbers().map(ragged).shuffle().ragged_batch(4), varies=True)
case(
    "ragged_batch_nested",
    lambda _: (
        numbers()
        .map(lambda x: {"rows": np.full((x % 3, 2), x), "more": (["a"] * (x % 3 + 1), b"b", x)})
        .ragged_batch(4)
        .map(lambda d: d)
    ),
)
case(
    "ragged_batch_stream",
    lambda _: Dataset.from_generator(ragged_rows, output_signature=Spec((None,), np.float32)).ragged_batch(4),
    streams="from_generator",
    once=False,
)
case(
    "ragged_batch_of_matrices",
    lambda _: (
        numbers()
        .map(lambda x: np.full((x % 3, x % 2 + 1), x), output_signature=Spec((None, None), np.int64))
        .ragged_batch(3)
        .map(lambda r: r.flat_values)
    ),
    once=False,
    ragged=True,
)
case("ragged_batched", lambda _: numbers(24).map(ragged).ragged_batch(4).batch(2), once=False)
case(
    "ragged_cached",
    lambda _: numbers().map(lambda x: np.full(x % 4 + 1, x)).ragged_batch(4).cache().shuffle(),
    varies=True,
)
case("ragged_unbatched", lambda _: numbers().map(ragged).ragged_batch(4).unbatch(), streams="unbatch", once=False)
case("ragged_rebatched", lambda _: numbers().map(ragged).ragged_batch(4).rebatch(3), streams="rebatch", once=False)
case("ragged_padded", lambda _: numbers().map(ragged).ragged_batch(4).map(lambda r: r.to_padded(-1)), ragged=True)
case("ragged_slices", lambda _: Dataset.from_tensor_slices(ps.Ragged.from_rows([[1], [2, 3], []])).padded_batch(2))
case("ragged_tensors", lambda _: Dataset.from_tensors({"r": ps.Ragged([1, 2, 3], [0, 1, 3])}))
case("unbatch", lambda _: numbers().batch(4).unbatch(), streams="unbatch")
case("unbatch_ragged", lambda _: numbers().map(ragged).unbatch(), streams="unbatch", once=False)
case("unbatch_nothing", lambda _: numbers(5).map(lambda x: np.zeros((0, 2))).unbatch(), streams="unbatch")
case(
    "unbatch_text",
    lambda _: Dataset.from_tensor_slices((["a", "bb", "", "d"], np.ones((4, 2)))).batch(3).unbatch(),
    streams="unbatch",
)
case("unbatch_wide", lambda _: wide().batch(4).unbatch().batch(3), streams="unbatch")
case(
    "unbatch_dict",
    lambda _: Dataset.from_tensor_slices(images()).batch(5).map(lambda d: d).unbatch(),
    streams="unbatch",
)

# --- nested datasets --------------------------------------------------------------------------------------------------

case("flat_map", lambda _: numbers(7).flat_map(upto), streams="flat_map", once=False)
case("flat_map_logged", lambda _: numbers(7).flat_map(logged(upto)).batch(3), streams="flat_map")
case("flat_map_none", lambda _: numbers(0).flat_map(upto), streams="flat_map")
case("flat_map_empty", lambda _: numbers(5).flat_map(lambda n: numbers(0)), streams="flat_map")
case("flat_map_dict", lambda _: numbers(5).flat_map(lambda n: numbers(4).map(nested)), streams="flat_map", once=False)
case("flat_map_splat", lambda _: Dataset.zip(numbers(4), numbers(9)).flat_map(tens_from), streams="flat_map")
case(
    "flat_map_twice",
    lambda _: numbers(4).flat_map(lambda n: numbers(3).flat_map(upto).map(lambda x: x + n)),
    streams="flat_map",
    once=False,
)
case("flat_map_stream", lambda _: stream(6).flat_map(tens), streams="from_generator")
case("flat_map_generators", lambda _: numbers(4).flat_map(generated), streams="flat_map")
case(
    "flat_map_of_maps", lambda _: numbers(9).flat_map(lambda n: tens(n).map(double).filter(is_even)), streams="flat_map"
)
case(
    "flat_map_endless",
    lambda _: numbers(3).flat_map(lambda n: tens(n).repeat()),
    streams="flat_map",
    endless=True,
    once=False,
)
case(
    "flat_map_endless_parent",
    lambda _: numbers(3).repeat().flat_map(upto),
    streams="flat_map",
    endless=True,
    once=False,
)
case("flat_map_take", lambda _: numbers(9).flat_map(lambda n: generated(n).take(3)).take(11), streams="flat_map")
case(
    "flat_map_shuffled",
    lambda _: numbers(5).shuffle().flat_map(lambda n: tens(n).shuffle()),
    streams="flat_map",
    varies=True,
)
case(
    "flat_map_shuffled_large",
    lambda _: numbers(3).flat_map(lambda n: Dataset.range(n * 9000, n * 9000 + 5000).shuffle().take(7)),
    streams="flat_map",
    varies=True,
)
case(
    "flat_map_random",
    lambda _: numbers(5).flat_map(lambda n: tens(n).random_map(noisy)),
    streams="flat_map",
    varies=True,
)
case("flat_map_random_after", lambda _: numbers(5).flat_map(tens).random_map(noisy), streams="flat_map", varies=True)
case(
    "flat_map_random_repeated",
    lambda _: numbers(3).flat_map(lambda n: tens(n).random_map(noisy)).repeat(3),
    streams="flat_map",
    varies=True,
)
case(
    "flat_map_cached",
    lambda _: numbers(5).flat_map(lambda n: tens(n).random_map(noisy).cache().repeat(2)),
    streams="flat_map",
    once=False,
)
case("flat_map_cache", lambda _: numbers(5).flat_map(tens).cache().repeat(2), streams="flat_map", once=False)
case("flat_map_zip", lambda _: numbers(5).flat_map(lambda n: Dataset.zip(tens(n), numbers(3))), streams="flat_map")
case(
    "flat_map_concatenate",
    lambda _: numbers(5).flat_map(lambda n: tens(n).concatenate(generated(n)).enumerate()),
    streams="flat_map",
    once=False,
)
case(
    "flat_map_skip",
    lambda _: numbers(5).flat_map(lambda n: tens(n).map(odd_fails, on_error="skip")),
    streams="flat_map",
)
case("flat_map_batches", lambda _: numbers(5).flat_map(lambda n: tens(n).batch(2)), streams="flat_map")
case("interleave", lambda _: numbers(7).interleave(upto, cycle_length=3), streams="interleave", once=False)
case("interleave_blocks", lambda _: numbers(9).interleave(tens, 3, 2), streams="interleave")
case("interleave_default", lambda _: numbers(23).interleave(tens), streams="interleave")
case("interleave_one", lambda _: numbers(5).interleave(tens, 1, 2), streams="interleave")
case("interleave_wide", lambda _: numbers(5).interleave(upto, 100, 3).batch(4), streams="interleave")
case("interleave_stream", lambda _: stream(9).interleave(generated, 4), streams="from_generator")
case(
    "interleave_endless",
    lambda _: numbers(9).interleave(lambda n: tens(n).repeat(), 3, 2),
    streams="interleave",
    endless=True,
    once=False,
)
case(
    "interleave_shuffled",
    lambda _: numbers(9).shuffle().interleave(lambda n: tens(n).shuffle(), 3).shuffle(4).batch(3),
    streams="interleave",
    varies=True,
)
case(
    "interleave_ragged",
    lambda _: numbers(6).interleave(lambda n: tens(n).map(ragged), 2),
    streams="interleave",
    ragged=True,
    once=False,
)
case(
    "interleave_files",
    lambda files: Dataset.list_files(str(files / "classes" / "*" / "*.txt"), shuffle=False).interleave(characters, 3),
    streams="interleave",
    once=False,
)
case(
    "interleave_parallel",
    lambda _: numbers(11).interleave(upto, 3, num_parallel_calls=ps.AUTOTUNE),
    streams="interleave",
    once=False,
)
case(
    "interleave_parallel_generators",
    lambda _: stream(9).interleave(generated, 4, 2, num_parallel_calls=3).batch(4),
    streams="from_generator",
)
case(
    "interleave_parallel_shuffled",
    lambda _: numbers(9).shuffle().interleave(lambda n: tens(n).shuffle().random_map(noisy), 3, num_parallel_calls=5),
    streams="interleave",
    varies=True,
)
case(
    "interleave_parallel_endless",
    lambda _: numbers(9).repeat().interleave(tens, 3, 2, num_parallel_calls=2),
    streams="interleave",
    endless=True,
    once=False,
)
case("interleave_parallel_none", lambda _: numbers(0).interleave(tens, num_parallel_calls=2), streams="interleave")
case("window", lambda _: numbers().window(4), streams="window")
case("window_drop", lambda _: numbers().window(4, drop_remainder=True), streams="window")
case("window_sliding", lambda _: numbers().window(4, 1), streams="window")
case("window_strided", lambda _: numbers().window(3, 2, 3), streams="window")
case("window_gaps", lambda _: stream().window(2, 5), streams="from_generator")
case("window_strided_drop", lambda _: numbers().window(4, 3, 2, True), streams="window")
case("window_nested", lambda _: Dataset.from_tensor_slices(images()).window(5), streams="window")
case("window_text", lambda _: Dataset.from_tensor_slices(list("abcdefghij")).window(4, 2), streams="window")
case("window_wide", lambda _: wide().window(4, 2).flat_map(lambda w: w.batch(4)), streams="flat_map")
case("window_endless", lambda _: numbers(7).repeat().window(3, 2), streams="window", endless=True, once=False)
case("window_batches", lambda _: numbers().window(5, 1).flat_map(lambda w: w.batch(5)), streams="flat_map")
case(
    "window_batches_of_two",
    lambda _: numbers().window(5, 3).flat_map(lambda w: w.batch(2, drop_remainder=True)),
    streams="window",
)
case(
    "window_tuples",
    lambda _: Dataset.zip(numbers(), image_only()).window(3).flat_map(lambda a, b: Dataset.zip(a.batch(3), b.batch(3))),
    streams="flat_map",
)
case("window_map", lambda _: numbers().window(4, 2).map(lambda w: sum(int(x) for x in w)), streams="window")
case(
    "window_of_windows",
    lambda _: numbers().window(6).map(lambda w: w.window(2)).flat_map(lambda ww: ww.flat_map(lambda w: w.batch(2))),
    streams="window",
)
case(
    "window_shuffled",
    lambda _: numbers().shuffle().window(4).shuffle(3).flat_map(lambda w: w.shuffle(4)),
    streams="window",
    varies=True,
)
case(
    "window_random",
    lambda _: numbers().random_map(noisy).window(3, 2).flat_map(lambda *w: Dataset.zip(*w)),
    streams="window",
    varies=True,
    once=False,
)
case("window_cache", lambda _: numbers().window(4).cache().repeat(2), streams="window", once=False)
case("window_filter", lambda _: numbers().window(4).filter(lambda w: len(w) == 4), streams="window")

case("group_by_window", lambda _: numbers().group_by_window(third, grouped, 3), streams="group_by_window", once=False)
case(
    "group_by_window_sizes",
    lambda _: stream().group_by_window(third, lambda key, w: w.batch(2), window_size_func=lambda key: key + 1),
    streams="from_generator",
)
case(
    "group_by_window_shuffled",
    lambda _: numbers().shuffle().group_by_window(logged(third), lambda key, w: w.shuffle(5).batch(5), 5),
    streams="group_by_window",
    varies=True,
)
case(
    "group_by_window_dict",
    lambda _: Dataset.from_tensor_slices(images()).group_by_window(
        lambda d: d["label"] % 2, lambda key, w: w.map(lambda d: (d["image"], d["label"])).batch(4), 4
    ),
    streams="group_by_window",
)
case(
    "bucket",
    lambda _: numbers().map(ragged).bucket_by_sequence_length(len, [2, 4], [3, 4, 2]),
    streams="bucket_by_sequence_length",
    ragged=True,
    once=False,
)
case(
    "bucket_to_boundary",
    lambda _: Dataset.from_generator(ragged_rows, output_signature=Spec((None,), np.float32)).bucket_by_sequence_length(
        len, [2, 4], [3, 4, 2], pad_to_bucket_boundary=True, padding_values=-1.0, drop_remainder=True
    ),
    streams="from_generator",
    ragged=True,
    once=False,
)

# --- order and size ---------------------------------------------------------------------------------------------------

case("shuffle", lambda _: numbers().shuffle(), varies=True)
case("shuffle_buffer", lambda _: numbers().shuffle(3), varies=True)
case("shuffle_seed", lambda _: numbers().shuffle(100, seed=5), varies=True)
case("shuffle_fixed", lambda _: numbers().shuffle(seed=5, reshuffle_each_iteration=False))
case("shuffle_twice", lambda _: numbers().shuffle(seed=1).shuffle(seed=1), varies=True)
case("shuffle_batch", lambda _: Dataset.from_tensor_slices(images()).shuffle().batch(4), varies=True)
case("shuffle_batches", lambda _: numbers().batch(4).shuffle(), varies=True)
case("shuffle_stream", lambda _: stream().shuffle(5), streams="from_generator", varies=True)
case("shuffle_stream_all", lambda _: stream().shuffle(), streams="from_generator", varies=True)
case("shuffle_stream_one", lambda _: stream().shuffle(1), streams="from_generator")
case("shuffle_early", lambda _: stream().shuffle(16, start_early=True), streams="from_generator", varies=True)
case(
    "shuffle_early_large",
    lambda _: numbers(90).filter(is_even).shuffle(40, start_early=True).batch(4),
    streams="filter",
    varies=True,
)
case("shuffle_early_indexed", lambda _: numbers().shuffle(4, start_early=True), varies=True)
case("shuffle_endless", lambda _: numbers(7).repeat().shuffle(5).batch(2), varies=True, endless=True, once=False)
case(
    "shuffle_endless_taken",
    lambda _: Dataset.counter().map(double).shuffle(10).random_map(noisy).take(27),
    varies=True,
)
case("shuffle_filter", lambda _: numbers().filter(is_even).shuffle(4).batch(3), streams="filter", varies=True)
case("shuffle_one", lambda _: numbers(1).shuffle())
case("shuffle_none", lambda _: numbers(0).shuffle())
case("shuffle_taken", lambda _: numbers().skip(2).take(9).shuffle(4), varies=True)
case("shuffle_shard", lambda _: numbers().shard(3, 1).map(double).shuffle(2).batch(3), varies=True)
case("shuffle_slice", lambda _: numbers()[3:15].shuffle().shuffle(3)[8:1:-2], varies=True)
case("shuffle_repeated_taken", lambda _: numbers(5).repeat(3).take(11).shuffle().repeat(2), varies=True, once=False)
case("shuffle_text", lambda _: Dataset.from_tensor_slices(list("abcdefghij")).shuffle().batch(3), varies=True)
case("repeat", lambda _: numbers(7).repeat(3), once=False)
case("repeat_shuffled", lambda _: numbers(7).shuffle().repeat(3), varies=True, once=False)
case("repeat_fixed", lambda _: numbers(7).shuffle(reshuffle_each_iteration=False).repeat(3), once=False)
case("repeat_batch", lambda _: numbers(7).shuffle().repeat(3).batch(4), varies=True)
case("repeat_nested", lambda _: numbers(3).shuffle().repeat(2).random_map(noisy).repeat(2), varies=True)
case("repeat_shuffle_after", lambda _: numbers(5).repeat(3).shuffle().random_map(noisy), varies=True)
case("repeat_zero", lambda _: numbers().repeat(0))
case("repeat_one", lambda _: numbers().repeat(1))
case("repeat_none", lambda _: numbers(0).repeat())
case("repeat_endless", lambda _: numbers(7).shuffle().repeat(), varies=True, endless=True, once=False)
case("repeat_endless_batch", lambda _: numbers(7).map(double).repeat(-1).batch(4), endless=True, once=False)
case("repeat_take", lambda _: numbers(7).repeat().take(19), once=False)
case("repeat_stream", lambda _: stream(5).shuffle(3).repeat(3), streams="from_generator", varies=True, once=False)
case("repeat_stream_endless", lambda _: stream(5).repeat(), streams="from_generator", endless=True, once=False)
case("repeat_stream_none", lambda _: stream(0).repeat(), streams="from_generator")
case("repeat_filter", lambda _: numbers(5).filter(is_even).random_map(noisy).repeat(3), streams="filter", varies=True)
case("repeat_serial", lambda _: numbers(5).map(logged(double)).repeat(2), once=False)
case("take", lambda _: numbers().map(double).take(5))
case("take_all", lambda _: numbers().take(-1))
case("take_none", lambda _: numbers().take(0))
case("take_more", lambda _: numbers().take(99))
case("take_stream", lambda _: stream().take(5), streams="from_generator")
case("take_stream_zero", lambda _: stream().take(0), streams="from_generator")
case("take_stream_more", lambda _: stream(5).take(9), streams="from_generator")
case("take_filter", lambda _: numbers().filter(is_even).take(5).batch(2), streams="filter")
case("take_batch_stream", lambda _: stream().batch(3).take(2), streams="from_generator")
case("take_shuffled", lambda _: numbers().shuffle().take(5), varies=True)
case("skip", lambda _: numbers().map(double).skip(5))
case("skip_all", lambda _: numbers().skip(-1))
case("skip_more", lambda _: numbers().skip(99))
case("skip_stream", lambda _: stream().skip(5).take(6), streams="from_generator")
case("skip_stream_all", lambda _: stream().skip(-1), streams="from_generator")
case("skip_endless", lambda _: numbers(5).repeat().skip(3), endless=True, once=False)
case("shard", lambda _: numbers().shard(3, 1))
case("shard_map", lambda _: numbers().map(double).shard(4, 3).batch(2))
case("shard_shuffled", lambda _: numbers().shuffle(seed=2).shard(3, 2), varies=True)
case("shard_stream", lambda _: stream().shard(3, 1), streams="from_generator")
case("shard_empty", lambda _: numbers(2).shard(5, 4))
case("shard_endless", lambda _: numbers(5).repeat().shard(2, 1), endless=True, once=False)
case("slice", lambda _: numbers().map(double)[3:20:4])
case("slice_reversed", lambda _: numbers().batch(3)[::-1])
case("slice_shuffled", lambda _: numbers().shuffle()[2:9].batch(2), varies=True)
case("slice_endless_open", lambda _: numbers(5).repeat()[3::2], endless=True, once=False)
case("slice_endless_reversed", lambda _: numbers(5).repeat()[13::-3], once=False)
case("slice_endless", lambda _: numbers(5).repeat()[3:18:2], once=False)

# --- keeping ----------------------------------------------------------------------------------------------------------

case("cache", lambda _: numbers().map(nested).cache())
case("cache_shuffle", lambda _: numbers().map(double).cache().shuffle().batch(4), varies=True)
case("cache_random", lambda _: numbers().cache().random_map(noisy), varies=True)
case("cache_of_random", lambda _: numbers().random_map(noisy).cache())
case("cache_of_shuffle", lambda _: numbers().shuffle().cache())
case("cache_repeat", lambda _: numbers(5).random_map(noisy).cache().repeat(3), once=False)
case("cache_images", lambda _: image_only().map(augmented).cache().batch(4), once=False)
case("cache_ragged", lambda _: numbers().map(ragged).cache(), ragged=True, once=False)
case("cache_ragged_repeat", lambda _: numbers().map(ragged).cache().repeat(2), ragged=True, once=False)
case("cache_batch", lambda _: numbers().batch(4).cache().map(double))
case("cache_stream", lambda _: stream().map(double).cache(), streams="from_generator")
case("cache_stream_repeat", lambda _: stream(5).shuffle(3).cache().repeat(3), streams="from_generator", once=False)
case(
    "cache_stream_random", lambda _: stream().cache().random_map(noisy).batch(3), streams="from_generator", varies=True
)
case("cache_skip", lambda _: numbers().map(odd_fails, on_error="skip").cache().repeat(2), streams="map", once=False)
case("cache_serial", lambda _: numbers().map(logged(double)).cache().shuffle(), varies=True)
case("cache_small", lambda _: wide().map(add_one).cache().with_options(Options(cache_budget=20_000)), warns=True)
case(
    "cache_small_repeat",
    lambda _: wide().map(add_one).cache().repeat(2).with_options(Options(cache_budget=20_000)),
    warns=True,
    once=False,
)
case(
    "cache_small_stream",
    lambda _: stream().cache().repeat(2).with_options(Options(cache_budget=20)),
    streams="from_generator",
    warns=True,
    once=False,
)
case("cache_files", lambda files: numbers().map(nested).cache(files / "kept" / "nested").batch(4), alone=True)
case(
    "cache_files_new",
    lambda files: image_only().map(augmented).cache(mkdtemp(dir=files)).shuffle().batch(4),
    varies=True,
    alone=True,
)
case(
    "cache_files_random",
    lambda files: stream().cache(files / "kept" / "random").random_map(noisy),
    uncounted=True,
    varies=True,
    alone=True,
)
case(
    "cache_files_stream",
    lambda files: stream().map(ragged).cache(mkdtemp(dir=files)).repeat(2),
    uncounted=True,
    ragged=True,
    once=False,
    alone=True,
)
case(
    "cache_files_shuffled",
    lambda files: stream().map(nested).cache(mkdtemp(dir=files)).shuffle(3),
    uncounted=True,
    varies=True,
    alone=True,
)
case(
    "snapshot",
    lambda files: numbers().filter(is_even).snapshot(files / "kept" / "snapshot").map(double),
    uncounted=True,
    alone=True,
)
case("load", lambda files: saved(files).shuffle().random_map(noisy_nest), varies=True)
case("prefetch", lambda _: numbers().map(double).batch(4).prefetch(2))
case("prefetch_auto", lambda _: numbers().map(double).prefetch())
case("prefetch_inside", lambda _: numbers().prefetch(3).map(double).prefetch(0).shuffle().prefetch(1), varies=True)
case("prefetch_stream", lambda _: stream().prefetch(1).map(double).prefetch(1), streams="from_generator")
case("options", lambda _: numbers().shuffle().with_options(Options(seed=7)).batch(4), varies=True)
case("apply", lambda _: numbers().apply(lambda ds: ds.map(double).batch(2)))
case("tiny_budget", lambda _: wide().shuffle().map(add_one).batch(4).with_options(Options(ram_budget=1)), varies=True)
case(
    "tiny_budget_stream",
    lambda _: stream().map(double).shuffle(4).batch(3).map(double).with_options(Options(ram_budget=1)),
    streams="from_generator",
    varies=True,
)


def quietly(build: Callable[[], Any]) -> Any:
    """`build()`, without the warnings that are part of a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build()
