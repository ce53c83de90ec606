from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.errors import InvalidArgumentError, PenstockWarning
from penstock.storage import cache as caches
from penstock.storage.cache import DiskCache
from penstock.storage.client import ObjectFacts
from penstock.storage.ranges import Request


def facts(version: int = 1, size: int = 100) -> ObjectFacts:
    return ObjectFacts(size, f'"{version}"')


def held(directory: Path) -> int:
    """Bytes of all entries, whole or not; one that is on its way has two names."""
    found: dict[int, int] = {}
    for folder in ("entries", "unfinished"):
        for entry in os.scandir(directory / folder):
            with suppress(FileNotFoundError):
                told = os.stat(entry.path)
                found[told.st_ino] = told.st_size
    return sum(found.values())


def count(directory: Path) -> int:
    return int((directory / "bytes").read_text())


def test_what_is_kept_is_given_again(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), 10_000)
    cache.keep(Request("a"), b"x" * 100, facts())
    cache.keep(Request("a", 0, 10), b"y" * 10, facts())
    assert cache.trusted(Request("a")) == b"x" * 100
    assert cache.trusted(Request("a", 0, 10)) == b"y" * 10
    assert cache.trusted(Request("a", 0, 11)) is None
    assert count(tmp_path) == held(tmp_path)


def test_what_came_first_stays(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), 1000)
    for number in range(50):
        cache.keep(Request(str(number)), bytes(100), facts())
    kept = [number for number in range(50) if cache.has(Request(str(number)))]
    assert kept == list(range(len(kept)))
    assert 4 <= len(kept) <= 9
    assert count(tmp_path) == held(tmp_path) <= 1000


def test_a_changed_object_takes_the_place_of_what_it_was(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), 1000)
    for version in range(20):
        cache.keep(Request("a"), bytes([version]) * (100 + version), facts(version))
        assert count(tmp_path) == held(tmp_path)
    assert cache.trusted(Request("a")) == bytes([19]) * 119


def test_what_nothing_tells_from_another_is_not_kept(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), 1000)
    cache.keep(Request("a"), b"x", ObjectFacts(1))
    assert not cache.has(Request("a"))
    cache.keep(Request("a"), b"x", ObjectFacts(1, None, 1.0))
    assert cache.has(Request("a"))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_damaged_entries_are_not_used_and_go(tmp_path: Path, damage: str) -> None:
    cache = DiskCache(str(tmp_path), 10_000)
    cache.keep(Request("a"), b"x" * 100, facts())
    (entry,) = (tmp_path / "entries").iterdir()
    whole = entry.read_bytes()
    entry.write_bytes({"cut": whole[:-1], "flip": whole[:-1] + b"y", "empty": b"", "other": b"hello" * 20}[damage])
    assert cache.trusted(Request("a")) is None
    assert not entry.exists()
    cache.keep(Request("a"), b"x" * 100, facts())
    assert cache.trusted(Request("a")) == b"x" * 100


def test_a_full_disk_is_told_once_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(str(tmp_path), 10_000)
    cache.keep(Request("a"), b"x" * 100, facts())

    def full(descriptor: int, offset: int, nbytes: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caches.os, "posix_fallocate", full)
    with pytest.warns(PenstockWarning, match="the disk is full"):
        cache.keep(Request("b"), b"x" * 100, facts())
    cache.keep(Request("c"), b"x" * 100, facts())
    assert not cache.has(Request("b"))
    assert list((tmp_path / "unfinished").iterdir()) == []
    assert count(tmp_path) == held(tmp_path)
    assert cache.trusted(Request("a")) == b"x" * 100


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgumentError, match="cache_directory"):
        DiskCache(str(tmp_path / "file" / "cache"), 1000)


def test_a_count_that_is_lost_is_made_anew(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), 10_000)
    cache.keep(Request("a"), b"x" * 100, facts())
    before = count(tmp_path)
    (tmp_path / "bytes").write_bytes(b"rubbish")
    DiskCache(str(tmp_path), 10_000)
    assert count(tmp_path) == before


def test_what_a_killed_writer_left_goes(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), 10_000)
    cache.keep(Request("a"), b"x" * 100, facts())
    before = count(tmp_path)
    (tmp_path / "unfinished" / "killed").write_bytes(bytes(500))
    (tmp_path / "bytes").write_text(f"{before + 500:020d}")
    DiskCache(str(tmp_path), 10_000)
    assert list((tmp_path / "unfinished").iterdir()) == []
    assert count(tmp_path) == before


def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), 20_000)

    def fill(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(60):
            number = draw.randrange(80)
            cache.keep(Request(str(number)), bytes([number]) * 200, facts(number))
            found = cache.trusted(Request(str(number)))
            assert found in (None, bytes([number]) * 200)
            assert held(tmp_path) <= 20_000

    threads = [threading.Thread(target=fill, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(tmp_path) == held(tmp_path)


FILL = """
import sys
from penstock.storage.cache import DiskCache
from penstock.storage.client import ObjectFacts
from penstock.storage.ranges import Request
cache = DiskCache(sys.argv[1], int(sys.argv[2]))
print("ready", flush=True)
number = int(sys.argv[3])
while True:
    number += 1
    cache.keep(Request(str(number % 400)), bytes([number % 256]) * 3000, ObjectFacts(3000, str(number)))
"""


def test_processes_that_are_killed_break_no_bound(tmp_path: Path) -> None:
    limit = 200_000
    DiskCache(str(tmp_path), limit)
    arguments = [sys.executable, "-c", FILL, str(tmp_path), str(limit)]
    writers = [subprocess.Popen([*arguments, str(number * 200)], stdout=subprocess.PIPE) for number in range(2)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
    for _ in range(30):
        assert held(tmp_path) <= limit
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    assert held(tmp_path) <= limit
    DiskCache(str(tmp_path), limit)
    assert list((tmp_path / "unfinished").iterdir()) == []
    entries = list((tmp_path / "entries").iterdir())
    assert len(entries) > 10
    for entry in entries:
        with open(entry, "rb", buffering=0) as file:
            assert caches._unpacked(file) is not None  # each is whole
