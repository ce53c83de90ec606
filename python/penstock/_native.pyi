"""The compiled module: see crates/penstock-py. Arrays are NumPy's; every function releases the GIL while it works."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

class ExampleSchema:
    def __new__(cls, fields: list[tuple[bytes, str, str, int, bool, list[Any] | None]]) -> ExampleSchema: ...

def parse_examples(
    schema: ExampleSchema, records: list[bytes] | tuple[Any, Any, Any], outs: list[NDArray[Any] | None]
) -> tuple[list[Any], tuple[Any, ...] | None]: ...
def parse_sequence_examples(
    context: ExampleSchema,
    lists: ExampleSchema,
    records: list[bytes] | tuple[Any, Any, Any],
    outs: list[NDArray[Any] | None],
) -> tuple[list[Any], tuple[Any, ...] | None]: ...
def serialize_example(
    features: list[tuple[bytes, Any]], lists: list[tuple[bytes, list[Any]]] | None = None
) -> bytes: ...

class FileReader:
    def __new__(cls, path: str) -> FileReader: ...
    def size(self) -> int: ...
    def read_pieces(self, starts: NDArray[np.uint64], lengths: NDArray[np.uint64], is_line: bool) -> list[bytes]: ...
    def line_bounds(self) -> NDArray[np.uint64]: ...

class WordTable:
    def __new__(cls, words: list[Any]) -> WordTable: ...
    def __len__(self) -> int: ...

class TextPattern:
    def __new__(cls, pattern: str, rewrite: str, unicode: bool) -> TextPattern: ...

def text_rows(
    texts: list[Any] | tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]],
    splits: NDArray[np.int64] | None,
    steps: list[tuple[Any, ...]],
    number: tuple[Any, ...] | None,
    is_narrow: bool,
) -> tuple[Any, Any, tuple[int, int, str] | None]: ...

# Where, what, what was got and what was expected: `kernels/record.py` says what each means.
RecordFault = tuple[int, str, int, int]

def packed_objects(
    buffers: Sequence[NDArray[np.uint8]],
    numbers: NDArray[np.int64] | None,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> list[bytes]: ...
def gather_packed(
    buffers: Sequence[NDArray[np.uint8]],
    numbers: NDArray[np.int64] | None,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
def masked_crc(data: bytes) -> int: ...
def frame_record(data: bytes) -> tuple[bytes, bytes]: ...
def scan_records(
    data: NDArray[np.uint8], left: int, verify: bool, skips: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int, bool, list[RecordFault]]: ...
def record_bounds(file: FileReader, size: int) -> tuple[NDArray[np.uint64], RecordFault | None]: ...
def skip_records(file: FileReader, size: int, count: int) -> tuple[int, int, RecordFault | None]: ...
def gather_records(
    files: Sequence[NDArray[np.uint8]],
    numbers: NDArray[np.int64],
    starts: NDArray[np.uint64],
    stops: NDArray[np.uint64],
    verify: bool,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], RecordFault | None]: ...
def read_records(
    files: Sequence[FileReader],
    numbers: NDArray[np.int64],
    starts: NDArray[np.uint64],
    stops: NDArray[np.uint64],
    verify: bool,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], RecordFault | None]: ...
def philox_words(key: int, id: int, op: int, first: int, count: int) -> NDArray[np.uint32]: ...
def philox(key: int, ids: NDArray[np.uint64], op: int, draws: int) -> NDArray[np.uint32]: ...
def permute(key: int, n: int, positions: NDArray[np.int64]) -> NDArray[np.int64]: ...
def permute_range(key: int, n: int, start: int, stop: int) -> NDArray[np.int64]: ...
def gather_rows(src: NDArray[Any], indices: NDArray[np.int64], outs: Sequence[NDArray[Any]]) -> None: ...
def gather_parts(
    sources: Sequence[Sequence[NDArray[Any]]],
    parts: NDArray[np.int64],
    rows: NDArray[np.int64],
    outs: Sequence[Sequence[NDArray[Any]]],
) -> None: ...
def place_rows(rows: list[NDArray[Any]], starts: NDArray[np.int64], out: NDArray[Any]) -> None: ...
def place_spans(
    src: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    places: NDArray[np.int64],
    out: NDArray[Any],
) -> None: ...
def pad_spans(
    src: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    item: NDArray[Any],
    outs: Sequence[NDArray[Any]],
) -> None: ...
def assign_bins(
    lengths: NDArray[np.int64],
    capacities: NDArray[np.int64],
    used: NDArray[np.int64],
    fullest: bool,
    bins_of: NDArray[np.int64],
) -> int: ...
def mark_segments(
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    ids: NDArray[np.int32],
    segments: NDArray[np.int32],
    positions: NDArray[np.int32],
) -> None: ...
def gather_windows(
    src: NDArray[Any], windows: tuple[int, int, int], indices: NDArray[np.int64], outs: Sequence[NDArray[Any]]
) -> None: ...
def copy_streamed(src: NDArray[Any], out: NDArray[Any]) -> None: ...
def read_file(path: str, offset: int, length: int | None) -> bytes: ...
def read_totals() -> tuple[float, int]: ...
def decode_jpeg(
    data: bytes, channels: int, limit_pixels: int, allow_truncated: bool, is_oriented: bool
) -> NDArray[np.uint8]: ...
def decode_png_u8(data: bytes, channels: int, limit_pixels: int, is_oriented: bool) -> NDArray[np.uint8]: ...
def decode_png_u16(data: bytes, channels: int, limit_pixels: int, is_oriented: bool) -> NDArray[np.uint16]: ...
def decode_jpeg_region(
    data: bytes,
    region: tuple[int, int, int, int],
    channels: int,
    limit_pixels: int,
    allow_truncated: bool,
    is_oriented: bool,
) -> NDArray[np.uint8]: ...
def decode_bitmap(data: bytes, channels: int, limit_pixels: int, is_oriented: bool) -> NDArray[np.uint8]: ...
def encode_jpeg(
    image: NDArray[np.uint8], quality: int, progressive: bool, optimize: bool, halves_chroma: bool
) -> bytes: ...
def encode_png(samples: NDArray[np.uint8], wide: bool, level: int | None) -> bytes: ...
def resize_by(images: NDArray[Any], height: int, width: int, method: str, antialias: bool) -> NDArray[np.float32]: ...
def resize_nearest(images: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]: ...
def flip_left_right(images: NDArray[np.uint8]) -> NDArray[np.uint8]: ...
def crop(images: NDArray[np.uint8], top: int, left: int, height: int, width: int) -> NDArray[np.uint8]: ...
def scale_channels(values: NDArray[Any], scale: Sequence[float], offset: Sequence[float]) -> NDArray[np.float32]: ...
def standardize(values: NDArray[np.float32], mean: Sequence[float], std: Sequence[float]) -> NDArray[np.float32]: ...
def standardize_whole(values: NDArray[np.float32]) -> NDArray[np.float32]: ...
def rgb_to_grey(values: NDArray[Any]) -> NDArray[Any]: ...
def map_bytes(values: NDArray[np.uint8], table: NDArray[np.uint8]) -> NDArray[np.uint8]: ...
def floats_to_bytes(values: NDArray[np.float32], saturate: bool) -> NDArray[np.uint8]: ...

# A step of a fused pass: a name, then its values; `kernels/fused.py` says what each means.
FusedStep = tuple[str, *tuple[Any, ...]]

# Regions of a block: [n, 4] int32, or a name and what its draws take; `kernels/fused.py` says what each means.
FusedRegions = NDArray[np.int32] | tuple[str, *tuple[Any, ...]] | None

def jpeg_shapes(contents: Sequence[Any], is_oriented: bool) -> tuple[NDArray[np.int32], list[tuple[int, str]]]: ...
def fused_images(
    contents: Sequence[Any],
    regions: FusedRegions,
    size: tuple[int, int] | None,
    antialias: bool,
    steps: Sequence[FusedStep],
    out: NDArray[Any],
    channels: int,
    max_pixels: int,
    allow_truncated: bool,
    is_oriented: bool,
    is_fast: bool,
    is_reference: bool,
    file_format: str,
) -> list[tuple[int, str]]: ...
def fused_pixels(
    images: Sequence[NDArray[Any]],
    regions: FusedRegions,
    size: tuple[int, int] | None,
    antialias: bool,
    steps: Sequence[FusedStep],
    out: NDArray[Any],
) -> list[tuple[int, str]]: ...
