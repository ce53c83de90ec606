"""The command: find out what it is, see what is there already, and write the shards that are not."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from penstock.cli.convert.encoding import encoder
from penstock.cli.convert.ledger import enter, held, told, written
from penstock.cli.convert.sources import Source, source_at
from penstock.dataset import Dataset
from penstock.errors import InvalidArgumentError, PenstockError, UserFunctionError
from penstock.formats.record_writer import TFRecordWriter
from penstock.options import Options
from penstock.units import format_bytes

_SHARD_BYTES = 256 * 2**20
_TAR_END = bytes(1024)
_SUFFIXES = {"": "", "GZIP": ".gz", "ZLIB": ".zz"}
_SHOWN_EVERY = 64


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. kind: "tfrecord" or "tar", None: as `target` ends. shards: None: by size. side: pixels.

    columns: of Parquet, those that are wanted; None: all.
    """

    source: Path
    target: Path
    kind: str | None = None
    shards: int | None = None
    shuffle: bool = True
    seed: int = 0
    side: int | None = None
    compression: str = ""
    columns: tuple[str, ...] | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A request, and what it comes to. names: of the shards, whether they are there or not."""

    request: Request
    source: Source
    kind: str
    compression: str
    names: tuple[str, ...]

    def told(self) -> dict[str, Any]:
        """What decides what the shards hold."""
        request = self.request
        arguments = {
            "source": str(request.source.resolve()), "format": self.kind, "shards": len(self.names),
            "shuffle": request.shuffle, "seed": request.seed, "resize": request.side, "compression": self.compression,
            "columns": None if request.columns is None else list(request.columns),
        }  # fmt: skip
        return told(self.source.files, arguments, self.names)


class Writer(Protocol):
    """A shard that is being written."""

    def write(self, record: bytes, /) -> Any: ...


def run_convert(request: Request, console: Console) -> None:
    """Pack what lies at the source. Raises: PenstockError: nothing known, damaged, changed, or no room."""
    kind = _kind(request)
    compression = _compression(request, kind)
    _require_apart(request)
    source, target = source_at(request.source, request.columns), request.target
    names = tuple(_names(request, source, kind, compression))
    job = Job(request, source, kind, compression, names)
    now = job.told()
    with held(target):
        enter(target, now, overwrite=request.overwrite)
        missing = [number for number, name in enumerate(names) if not (target / name).exists()]
        if len(missing) < len(names):
            console.print(f"{len(names) - len(missing)} of {len(names)} shards are there already")
        bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        if missing:
            with bar, _faults_of_data(source.kind):
                _write(job, missing, bar)
    size = sum((target / name).stat().st_size for name in names)
    console.print(f"{len(names)} shards, {format_bytes(size)}, in {escape(str(target))}", soft_wrap=True)


def _write(job: Job, missing: list[int], bar: Progress) -> None:
    request, source, names = job.request, job.source, job.names
    encode = encoder(source, job.kind, request.side)
    if source.count is None:  # one pass for all shards, an element for each in turn
        task = bar.add_task("all shards", total=None)
        with ExitStack() as open_shards:
            writers = [open_shards.enter_context(_shard(job, number)) for number in range(len(names))]
            for number, record in enumerate(_records(source.dataset, encode, 0)):
                writers[number % len(writers)].write(record)
                if number % _SHOWN_EVERY == 0:
                    bar.update(task, completed=number)
        return
    ranges = [_range(number, len(names), source.count) for number in missing]
    before = 0
    task = bar.add_task("", total=sum(stop - start for start, stop in ranges))
    ordered = source.dataset.shuffle(seed=request.seed) if request.shuffle else source.dataset
    for number, (start, stop) in zip(missing, ranges, strict=True):
        bar.update(task, description=escape(names[number]))
        with _shard(job, number) as writer:
            for at, record in enumerate(_records(ordered[start:stop], encode, start), start):
                writer.write(record)
                if at % _SHOWN_EVERY == 0:
                    bar.update(task, completed=before + at - start)
        before += stop - start
        bar.update(task, completed=before)


def _records(dataset: Dataset, encode: Any, first: int) -> Iterator[bytes]:
    """What a shard holds of each element, in order; the first is that of number `first`."""

    def record(number: Any, element: Any) -> bytes:
        return bytes(encode(number, *element) if isinstance(element, tuple) else encode(number, element))

    made = dataset.enumerate(start=first).map(record, compile=False, executor="threads")
    with made.with_options(Options(executor="threads")).iterator(0) as found:
        yield from found


@contextmanager
def _shard(job: Job, number: int) -> Iterator[Writer]:
    with written(job.request.target, job.names[number]) as path:
        if job.kind == "tfrecord":
            with TFRecordWriter(path, job.compression) as records:
                yield records
            return
        with path.open("wb") as raw, ExitStack() as stack:
            packed = gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) if job.compression else None
            writer = raw if packed is None else stack.enter_context(packed)
            yield writer
            writer.write(_TAR_END)


def _range(number: int, shards: int, count: int) -> tuple[int, int]:
    """Shards differ by one element at most."""
    return number * count // shards, (number + 1) * count // shards


def _names(request: Request, source: Source, kind: str, compression: str) -> list[str]:
    size = sum(Path(name).stat().st_size for name in source.files)
    shards = request.shards or max(1, min(-(-size // _SHARD_BYTES), source.count or 1))
    if source.count is None and request.shuffle:
        raise InvalidArgumentError(
            "convert: packed files can only be read from their start, so they cannot be shuffled",
            where=str(request.source), remedy="say --no-shuffle, and shuffle where they are read",
        )  # fmt: skip
    if source.count is not None and shards > source.count:
        raise InvalidArgumentError(
            "convert: more shards than elements", got=f"--shards {shards}", expected=f"at most {source.count}",
            where=str(request.source),
        )  # fmt: skip
    stem = request.target.name.removesuffix(".tar").removesuffix(".tfrecord") or "data"
    suffix = f".{kind}{_SUFFIXES[compression]}"
    return [f"{stem}-{number:05d}-of-{shards:05d}{suffix}" for number in range(shards)]


def _kind(request: Request) -> str:
    kind = request.kind or ("tar" if request.target.suffix == ".tar" else "tfrecord")
    if kind not in ("tfrecord", "tar"):
        raise InvalidArgumentError("--format", got=repr(kind), expected="tfrecord or tar")
    return kind


def _compression(request: Request, kind: str) -> str:
    said = request.compression.upper()
    known = ("", "GZIP", "ZLIB") if kind == "tfrecord" else ("", "GZIP")
    if said not in known:
        raise InvalidArgumentError(
            f"--compression of {kind}", got=repr(request.compression), expected=" or ".join(filter(None, known))
        )
    return said


def _require_apart(request: Request) -> None:
    source, target = request.source.resolve(), request.target.resolve()
    if target.exists() and not target.is_dir():
        raise InvalidArgumentError(
            "convert: a file", expected="a folder for the shards", where=str(request.target), remedy="name another"
        )
    if source.is_dir() and target.is_relative_to(source):
        raise InvalidArgumentError(
            "convert: the shards would lie inside their source", where=str(request.target), remedy="name another folder"
        )


@contextmanager
def _faults_of_data(kind: str) -> Iterator[None]:
    """An error that a function here raised becomes one of the element: whose function found it says nothing."""
    try:
        yield
    except UserFunctionError as error:
        if not isinstance(error.__cause__, PenstockError):
            raise
        said = error.where or ""
        place = re.sub(r" at \S+:\d+", "", said[max(0, said.find("element ")) :])  # lines of code are not the user's
        raise error.__cause__.at(f"{kind}, {place}") from error
