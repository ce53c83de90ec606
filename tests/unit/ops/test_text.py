"""The ops on texts, called on single values: what they take, what they give, what they refuse."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import text
from penstock.errors import DecodeError, InvalidArgumentError, ReadError

WORDS = np.array(["the", "Cat", "sat"], dtype=object)
RAGGED = ps.Ragged(np.array(["a", "b", "c"], dtype=object), [0, 2, 2, 3])
KNOWN = text.Vocabulary(("the", "cat", "é"))


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        (text.lower, "ÉCOLE", "école"),
        (text.lower, "ÉCOLE".encode(), "É".encode() + b"cole"),
        (lambda x: text.lower(x, encoding="utf-8"), "ÉCOLE".encode(), "école".encode()),
        (text.upper, "straße", "STRASSE"),
        (text.strip, " \u2003a b\n", "a b"),
        (text.strip, b" a\x0b", b"a"),
        (lambda x: text.regex_replace(x, r"[^\w\s]", ""), "né, ok!", "né ok"),
        (lambda x: text.regex_replace(x, r"[^\w\s]", ""), "né, ok!".encode(), b"n ok"),
        (lambda x: text.regex_replace(x, r"(\w+) (\w+)", r"\2 \1", replace_global=False), "a b c d", "b a c d"),
        (lambda x: text.join(x, "-"), WORDS, "the-Cat-sat"),
        (text.length, "né", 2),
        (text.length, "né".encode(), 3),
        (lambda x: text.length(x, unit="UTF8_CHAR"), "né".encode(), 2),
        (lambda x: text.lookup(x, KNOWN), "é", 2),
        (lambda x: text.lookup(x, KNOWN, oov=9, dtype="int32"), b"dog", 9),
        (text.lower, np.str_("A"), "a"),
    ],
)
def test_a_text_becomes(op: Callable[[Any], Any], value: Any, expected: Any) -> None:
    got = op(value)
    assert got == expected
    assert isinstance(got, type(expected) if isinstance(expected, str | bytes) else np.integer)


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        (text.split, " a b\tc ", ["a", "b", "c"]),
        (lambda x: text.split(x, ","), b"a,,b", [b"a", b"", b"b"]),
        (lambda x: text.split(x, maxsplit=1), "a b c", ["a", "b c"]),
        (text.split, "", []),
        (lambda x: text.remove_stop_words(x, ["the"]), WORDS, ["Cat", "sat"]),
        (lambda x: text.ngrams(x, 2, "_"), WORDS, ["the_Cat", "Cat_sat"]),
        (lambda x: text.ngrams(x, (3, 1)), WORDS, ["the Cat sat", "the", "Cat", "sat"]),
        (lambda x: text.ngrams(x, 4), WORDS, []),
        (text.lower, WORDS, ["the", "cat", "sat"]),
        (text.lower, ["A", "b"], ["a", "b"]),
        (lambda x: text.lookup(text.lower(x), KNOWN), WORDS, [0, 1, -1]),
        (text.length, WORDS, [3, 3, 3]),
        (lambda x: text.pad(x, 5), np.arange(3), [0, 1, 2, 0, 0]),
        (lambda x: text.pad(x, 2), np.arange(3), [0, 1]),
        (lambda x: text.pad(x, 4, "-"), WORDS, ["the", "Cat", "sat", "-"]),
        (lambda x: text.pad(x, 2), np.array([], dtype=np.int32), [0, 0]),
        (text.upper, np.array([["a"], ["b"]]), [["A"], ["B"]]),
    ],
)
def test_an_array_comes_out(op: Callable[[Any], Any], value: Any, expected: Any) -> None:
    got = op(value)
    assert isinstance(got, np.ndarray)
    assert got.tolist() == expected
    assert got.flags.writeable


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        (text.split, np.array(["a b", "", "c"], dtype=object), [["a", "b"], [], ["c"]]),
        (text.upper, RAGGED, [["A", "B"], [], ["C"]]),
        (lambda x: text.lookup(x, ["b", "c"]), RAGGED, [[-1, 0], [], [1]]),
        (lambda x: text.remove_stop_words(x, ["a"]), RAGGED, [["b"], [], ["c"]]),
        (lambda x: text.ngrams(x, 2), np.array([["a", "b"], ["c", "d"]], dtype=object), [["a b"], ["c d"]]),
        (lambda x: text.join(x, "+"), RAGGED, ["a+b", "", "c"]),
        (lambda x: text.pad(x, 2), ps.Ragged(np.arange(3), [0, 3, 3]), [[0, 1], [0, 0]]),
    ],
)
def test_rows_of_words(op: Callable[[Any], Any], value: Any, expected: Any) -> None:
    got = op(value)
    assert (got.to_list() if isinstance(got, ps.Ragged) else got.tolist()) == expected


def test_dtypes_are_those_of_tensorflow() -> None:
    assert text.length("a").dtype == np.int32
    assert text.hash_bucket(WORDS, 7).dtype == np.int64
    assert text.lookup(WORDS, KNOWN).dtype == np.int64


def test_empty_rows_remember_their_kind() -> None:
    from penstock.block.collate import leaf_spec

    for empty, kind in (
        (text.split(""), "U"),
        (text.split(b""), "S"),
        (text.remove_stop_words(WORDS, WORDS.tolist()), "U"),
    ):
        assert leaf_spec(empty).dtype.kind == kind
        assert leaf_spec(pickle.loads(pickle.dumps(empty))).dtype.kind == kind  # our own
        assert leaf_spec(text.lower(empty)).dtype.kind == kind


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: text.lower(3), r"lower: not text; got .*int"),
        (lambda: text.split(np.arange(3)), r"split: not text"),
        (lambda: text.split([["a"]]), r"one text, or a 1-D array"),
        (lambda: text.join("a"), r"join: not words.*split the text first"),
        (lambda: text.remove_stop_words("a", ["a"]), r"remove_stop_words: not words"),
        (lambda: text.split("a", sep=""), r"split: sep"),
        (lambda: text.lower("a", encoding="latin-1"), r"lower: encoding"),
        (lambda: text.regex_replace("a", "(", ""), r"regex_replace: .*unclosed group"),
        (lambda: text.regex_replace("a", "a", r"\1"), r"group 1"),
        (lambda: text.regex_replace("a", r"(?=a)", ""), r"look-around"),
        (lambda: text.ngrams(WORDS, 0), r"ngrams: width"),
        (lambda: text.hash_bucket("a", 0), r"hash_bucket: num_buckets"),
        (lambda: text.length("a", unit="WORD"), r"length: unit"),
        (lambda: text.lookup("a", KNOWN, dtype="int16"), r"lookup: dtype"),
        (lambda: text.lookup("a", KNOWN, num_oov_buckets=2**31, dtype="int32"), r"lookup: dtype"),
        (lambda: text.lookup("a", ["b", "a", "b"]), r"'b' at 0 and 2"),
        (lambda: text.Vocabulary("words.txt"), r"from_file"),  # type: ignore[arg-type]  # what is tested
        (lambda: text.Vocabulary((1,)), r"no text"),
        (lambda: text.pad(np.zeros((2, 2)), 3), r"pad: not a row"),
        (lambda: text.pad(np.arange(3), 2, truncate=False), r"3 items.*at most 2"),
        (lambda: text.pad(np.arange(3), -1), r"pad: length"),
        (lambda: text.pad(np.arange(3, dtype=np.uint8), 4, -1), r"padding value"),
        (lambda: text.remove_stop_words(WORDS, "klingon"), r"remove_stop_words: language.*english"),
        (lambda: text.tokenize(3, None), r"tokenize: not a text"),
    ],
)
def test_what_cannot_be_is_told(call: Callable[[], Any], what: str) -> None:
    with pytest.raises(InvalidArgumentError, match=what):
        call()


def test_bytes_that_are_no_text_are_told_with_their_place() -> None:
    with pytest.raises(DecodeError, match=r"byte 2 of the text: invalid UTF-8: byte 0xff"):
        text.lower(b"ab\xff", encoding="utf-8")
    with pytest.raises(DecodeError, match=r"byte 1 of the text: tokenize"):
        text.tokenize(b"a\xff", None)


def test_vocabularies_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(b"a\r\nb\n\nc")
    assert text.Vocabulary.from_file(file).words == (b"a", b"b", b"", b"c")
    assert text.lookup("c", str(file)) == 3
    file.write_bytes(b"c\nlonger\n")
    assert text.lookup("c", file) == 0
    file.write_bytes(b"a\na\n")
    with pytest.raises(InvalidArgumentError, match=r"words\.txt: .*at 0 and 1"):
        text.lookup("a", file)
    with pytest.raises(ReadError, match=r"nothing\.txt"):
        text.lookup("a", tmp_path / "nothing.txt")


def test_vocabularies_travel() -> None:
    copy = pickle.loads(pickle.dumps(KNOWN))  # our own
    assert copy == KNOWN
    assert text.lookup("cat", copy) == 1
    assert repr(KNOWN) == "Vocabulary(3 words)"


def test_buckets_follow_the_words() -> None:
    ids = text.lookup(np.array(["cat", "dog", "mouse"], dtype=object), KNOWN, num_oov_buckets=5)
    assert ids.tolist() == [1, *(3 + text.hash_bucket(["dog", "mouse"], 5)).tolist()]


def test_stop_words_of_a_language() -> None:
    pytest.importorskip("stop_words")
    assert text.remove_stop_words(text.split("the cat is on the mat")).tolist() == ["cat", "mat"]
    assert text.remove_stop_words(text.split(b"der Hund und die Katze"), "german").tolist() == [b"Hund", b"Katze"]


def word_level() -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made


def test_tokenizers_give_ids() -> None:
    tokenizer = word_level()
    assert text.tokenize("a c b", tokenizer).tolist() == [0, 2, 1]
    assert text.tokenize(b"b", tokenizer, dtype="int64").dtype == np.int64
    tokenizer.enable_padding(length=4)
    assert text.tokenize("a", tokenizer).tolist() == [0, 0, 0, 0]
