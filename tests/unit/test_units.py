from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError
from penstock.units import format_bytes, format_seconds, parse_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (0, 0),
        (4096, 4096),
        ("4096", 4096),
        ("4 GiB", 4 * 2**30),
        ("512MB", 512 * 10**6),
        ("1.5g", 1_500_000_000),
        (" 2 kib ", 2048),
        ("1TB", 10**12),
        ("3 B", 3),
        ("0.5 KiB", 512),
    ],
)
def test_parse_bytes_reads_what_people_write(text: Any, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("bad", ["", "GiB", "-1", "4 GiBs", "1e9", "1,5 GB", "four", -1, 1.5, True, None, b"4"])
def test_parse_bytes_refuses_the_rest(bad: Any) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_bytes(bad)
    assert caught.value.got == repr(bad)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (-2048, "-2.0 KiB"),
        (3 * 2**30, "3.0 GiB"),
        (2**50, "1024.0 TiB"),
    ],
)
def test_format_bytes(count: int, text: str) -> None:
    assert format_bytes(count) == text


@given(st.integers(0, 2**52))
def test_parse_bytes_reads_what_format_bytes_writes(count: int) -> None:
    assert parse_bytes(format_bytes(count)) == pytest.approx(count, rel=0.06, abs=1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.25, "1.2 s"), (0.0034, "3.4 ms"), (5.6e-6, "5.6 us"), (7e-9, "7 ns"), (0, "0 ns"), (-2, "-2.0 s")],
)
def test_format_seconds(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
