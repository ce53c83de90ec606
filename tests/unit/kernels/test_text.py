"""Steps on texts against their slow twins; what is no text is an error that says which and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.block.packed import Packed
from penstock.kernels import reference_text as reference
from penstock.kernels import text as kernels
from penstock.kernels.packing import pad_spans, place_spans

LETTERS = "aAbBzZ éÉßΣςİıǅ\t\n\x1c\x85\u00a0\u2003中😀,-_0٣"
STRS = st.text(LETTERS, max_size=12)
BYTES = st.one_of(STRS.map(str.encode), st.binary(max_size=8))
WORDS = ["a", "b", "", "A", "é", "中"]
PATTERNS = [("[aA]+", "<\\0>"), ("(.)([bz])", "\\2\\1"), ("^", "-"), ("é|中", ""), ("[^a]", "x"), (",", "$1\\\\")]

CASES = st.tuples(st.sampled_from(["lower", "upper", "strip"]), st.booleans())
SPLITS = st.tuples(
    st.just("split"), st.just(False), st.sampled_from([None, b",", b"a", b"--"]), st.sampled_from([None, 0, 1, 2])
)
STEPS = st.one_of(
    CASES,
    SPLITS,
    st.sampled_from([("replace", *pair, every) for pair in PATTERNS for every in (True, False)]),
    st.just(("drop", WORDS)),
    st.tuples(st.just("ngrams"), st.lists(st.integers(1, 3), min_size=1, max_size=2), st.sampled_from([b"", b"_"])),
    st.tuples(st.just("join"), st.sampled_from([b"", b" "])),
)


def native(step: tuple[Any, ...], is_str: bool) -> tuple[Any, ...]:
    if step[0] == "replace":
        return "replace", kernels.TextPattern(step[1], step[2], is_str), step[3]
    return ("drop", kernels.WordTable(list(step[1]))) if step[0] == "drop" else step


def run(rows: list[list[Any]], steps: list[tuple[Any, ...]], is_str: bool) -> list[list[Any]]:
    splits = np.append(0, np.cumsum(list(map(len, rows)))).astype(np.int64)
    flat = [text for row in rows for text in row]
    made, ends = kernels.text_rows(flat, splits, [native(step, is_str) for step in steps])
    return [made[start:end] for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


@settings(max_examples=150)
@given(st.lists(st.lists(STRS, min_size=1, max_size=3), min_size=1, max_size=4), st.lists(STEPS, max_size=4))
def test_str_becomes_what_the_slow_twin_makes(rows: list[list[str]], steps: list[tuple[Any, ...]]) -> None:
    assert run(rows, steps, True) == reference.text_rows(rows, steps, str)


@settings(max_examples=150)
@given(st.lists(st.lists(BYTES, min_size=1, max_size=3), min_size=1, max_size=4), st.lists(STEPS, max_size=4))
def test_bytes_become_what_the_slow_twin_makes(rows: list[list[bytes]], steps: list[tuple[Any, ...]]) -> None:
    if any(step[0] == "replace" for step in steps):  # what `re` makes of bytes that are no UTF-8 is another thing
        rows = [[text.decode(errors="ignore").encode() for text in row] for row in rows]
    expected, offset = None, -1
    try:
        expected = reference.text_rows(rows, steps, bytes)
    except UnicodeDecodeError as error:
        offset = error.start
    if expected is not None:
        assert run(rows, steps, False) == expected
    elif not any(step[0] == "replace" for step in steps):  # else: a split between the bytes of a character
        with pytest.raises(kernels.TextError) as raised:
            run(rows, steps, False)
        assert raised.value.offset == offset


def test_empty_rows_stay_rows() -> None:
    assert run([[], ["a"], []], [("drop", ["a"])], True) == [[], [], []]
    assert kernels.text_rows([], None, [("lower", False)])[0] == []


@given(st.lists(BYTES, max_size=5))
def test_numbers_are_those_of_a_dict(texts: list[bytes]) -> None:
    words = [b"a", b"\xff", b"", "é".encode()]
    table = kernels.WordTable(words)
    found, ends = kernels.number_rows(texts, None, [], ("id", table, -3, 0), np.dtype(np.int32))
    assert found.dtype == np.int32
    assert found.tolist() == [words.index(text) if text in words else -3 for text in texts]
    assert ends.tolist() == list(range(len(texts) + 1))
    lengths, _ = kernels.number_rows(texts, None, [], ("length", False), np.dtype(np.int64))
    assert lengths.tolist() == list(map(len, texts))


HASHED = [b"", b"a", b"abc", b"abcd", b"hello world", b"x" * 16, b"y" * 17, b"z" * 33, b"c" * 64, b"penstock" * 40]
FINGERPRINTS = [  # what tf.strings.to_hash_bucket_fast(text, 2**62) gives
    1936946117179621455, 3694432073954588131, 2640714258260161385, 1897425971756105985, 1769834696496558107,
    3320895591121647644, 426471879119003573, 1983000239170337647, 414906305872451895, 1813137496680061834,
]  # fmt: skip


def test_fingerprints_are_farmhash() -> None:
    found, _ = kernels.number_rows(HASHED, None, [], ("hash", 2**62), np.dtype(np.int64))
    assert found.tolist() == FINGERPRINTS


def test_texts_that_are_none_are_told() -> None:
    with pytest.raises(kernels.TextError, match="invalid UTF-8: byte 0xff") as raised:
        kernels.text_rows([b"a", b"ab\xff"], None, [("lower", True)])
    assert (raised.value.row, raised.value.offset) == (1, 2)
    with pytest.raises(TypeError, match="bytes where others are str"):
        kernels.text_rows(["a", b"b"], None, [])
    with pytest.raises(TypeError, match="int, expected bytes or str"):
        kernels.text_rows([b"a", 1], None, [])
    with pytest.raises(UnicodeEncodeError):
        kernels.text_rows(["\ud800"], None, [])
    for splits in ([0, 2], [1, 1], [0, 1, 0, 1], []):
        with pytest.raises(ValueError, match="splits do not rise"):
            kernels.text_rows([b"a"], np.array(splits, dtype=np.int64), [])
    with pytest.raises(ValueError, match="not a step"):
        kernels.text_rows([b"a"], None, [("lower",)])
    with pytest.raises(ValueError) as twice:  # noqa: PT011  # its arguments are what matters
        kernels.WordTable(["a", b"a"])
    assert twice.value.args == (0, 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=6), st.sampled_from(["u1", "i8", "f4"]))
def test_spans_go_where_they_are_told(spans: list[tuple[int, int]], dtype: str) -> None:
    items = np.arange(10).astype(dtype)
    lengths = np.array([min(n, 10 - start) for start, n in spans], dtype=np.int64)
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    out = np.zeros((6, 4), dtype)
    place_spans(items, starts, lengths, np.arange(len(spans)) * 4, out)
    expected = [[*items[start : start + n], *[0] * (4 - n)] for start, n in zip(starts, lengths, strict=True)]
    assert out[: len(spans)].tolist() == expected


@pytest.mark.parametrize("span", [(9, 2, 0), (-1, 1, 0), (0, -1, 0), (0, 2, 7), (2**62, 2**62, 0), (0, 1, -1)])
def test_spans_outside_are_refused(span: tuple[int, int, int]) -> None:
    out = np.zeros(8)
    with pytest.raises(ValueError, match="span 0"):
        place_spans(np.arange(10.0), *(np.array([number]) for number in span), out)
    assert not out.any()


@given(st.lists(BYTES, max_size=5))
def test_pieces_of_one_text_are_texts(texts: list[bytes]) -> None:
    ends = np.cumsum([len(text) + 1 for text in texts], dtype=np.int64)
    if texts:
        whole = np.frombuffer(b"".join(text + b"\n" for text in texts), dtype=np.uint8)
        pieces = Packed(whole, ends - [len(text) + 1 for text in texts], ends - 1)
        steps = [("upper", False), ("split", False, None, None)]
        got, expected = kernels.text_rows(pieces, None, steps), kernels.text_rows(texts, None, steps)
        assert (got[0], got[1].tolist()) == (expected[0], expected[1].tolist())


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (2, 1), (0, 4)])
def test_pieces_outside_are_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="a piece from"):
        kernels.text_rows(Packed(np.zeros(3, np.uint8), np.array([start]), np.array([end])), None, [])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=6), st.integers(0, 5))
def test_spans_are_padded(spans: list[tuple[int, int]], first: int) -> None:
    items = np.arange(10, dtype=np.int32)
    lengths = np.array([min(n, 10 - start) for start, n in spans], dtype=np.int64)
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    first = min(first, len(spans))
    outs = [np.zeros((first, 4), np.int32), np.zeros((len(spans) - first, 5), np.int32)]
    pad_spans(items, starts, lengths, -1, outs)
    rows = [row.tolist() for out in outs for row in out]
    for row, start, n in zip(rows, starts.tolist(), lengths.tolist(), strict=True):
        assert row == [*range(start, start + n), *[-1] * (len(row) - n)]
    with pytest.raises(ValueError, match="spans for"):
        pad_spans(items, starts, lengths, -1, [np.zeros((len(spans) + 1, 4), np.int32)])
    with pytest.raises(ValueError, match="a span of"):
        pad_spans(items, starts, lengths + 11, -1, outs)
