"""Pieces in memory: loaded once, within the bound, shared by threads."""

from __future__ import annotations

import threading

import pytest

from penstock.formats.part_cache import PartCache


def test_piece_is_loaded_once() -> None:
    cache = PartCache[int, int](100, lambda key: (key * key, 1))
    assert cache.get([3, 1, 2]) == [9, 1, 4]
    assert cache.get([1, 3]) == [1, 9]
    assert cache.loads == 3


def test_least_recently_used_goes_first() -> None:
    cache = PartCache[int, int](2, lambda key: (key, 1))
    for keys in ([1], [2], [1], [3], [1]):
        cache.get(keys)
    assert cache.loads == 3
    cache.get([2])
    assert cache.loads == 4


def test_piece_larger_than_the_bound_is_given() -> None:
    cache = PartCache[int, int](2, lambda key: (key, 50))
    assert cache.get([1, 2, 3]) == [1, 2, 3]
    assert cache.get([3]) == [3]
    assert cache.loads == 3


def test_error_is_raised_and_tried_again() -> None:
    faults = [OSError("once")]

    def load(key: int) -> tuple[int, int]:
        if faults:
            raise faults.pop()
        return key, 1

    cache = PartCache[int, int](2, load)
    with pytest.raises(OSError, match="once"):
        cache.get([1])
    assert cache.get([1]) == [1]


def test_threads_share_the_work() -> None:
    both = threading.Barrier(2, timeout=30)

    def load(key: int) -> tuple[int, int]:
        both.wait()  # passes only if each of two threads loads one of the two pieces
        return key, 1

    cache = PartCache[int, int](9, load)
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(cache.get([1, 2]))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [[1, 2], [1, 2]]
    assert cache.loads == 2
