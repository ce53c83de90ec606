"""Compiled == eager for functions on texts, whatever they are made of, and whatever rows and blocks hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import text
from penstock.testing import assert_same_elements, collect

KNOWN = text.Vocabulary(("a", "b", "the", "é"))
TEXTS = ["The Cat sat, é", "", "a b", " a\u00a0b  c", "ÉÉ b", "the", "x,y,,z"]
SOURCES: dict[str, Any] = {
    "str": np.array(TEXTS, dtype=object),
    "bytes": np.array([t.encode() for t in TEXTS], dtype=object),
    "words": np.array([["a", "The"], ["b", "é "], ["", "a"]], dtype=object),
    "byte words": np.array([[b"a", b"\xff"], [b"B", b"the"]], dtype=object),
    "empty": np.array(["", "", ""], dtype=object),
    "broken": np.array([b"a", b"b\xff \xff", b"c"], dtype=object),
}
HOLDS_STR = {"str", "words", "empty"}
STEPS = {
    "lower": text.lower,
    "lower_utf8": lambda x: text.lower(x, encoding="utf-8"),
    "upper": text.upper,
    "strip": text.strip,
    "replace": lambda x: text.regex_replace(x, r"[^\w\s]", "-"),
    "split": text.split,
    "split_once": lambda x: text.split(x, ",", maxsplit=1),
    "join": lambda x: text.join(x, "+"),
    "stop": lambda x: text.remove_stop_words(x, ["the", "a"]),
    "ngrams": lambda x: text.ngrams(x, (1, 2), "_"),
    "lookup": lambda x: text.lookup(x, KNOWN, num_oov_buckets=3, dtype="int32"),
    "lookup_list": lambda x: text.lookup(x, ["b", "a"], oov=7),
    "hash": lambda x: text.hash_bucket(x, 100),
    "length": lambda x: text.length(x, unit="UTF8_CHAR"),
    "pad": lambda x: text.pad(x, 3),
    "first": lambda x: x[:2],
    "last": lambda x: x[-1:],
    "count": lambda x: x.shape[0],
    "len": lambda x: len(x),
    "size": lambda x: x.size * 2,
    "add": lambda x: x + 1,
}
OFTEN = ["lower", "split", "lookup", "pad", "stop"]


def outcome(dataset: ps.Dataset) -> list[Any]:
    """What is delivered, and the kind of error that ends it."""
    elements: list[Any] = []
    try:
        elements.extend(dataset.iterator(epoch=0))
    except ps.errors.PenstockError as error:
        elements.append(f"{type(error).__name__}: {error.where} {error.__cause__!r:.60}")
    return elements


@settings(max_examples=120)
@given(
    source=st.sampled_from(sorted(SOURCES)),
    names=st.lists(st.sampled_from([*OFTEN, *OFTEN, *sorted(STEPS)]), min_size=1, max_size=5),
    block_size=st.sampled_from([None, 1, 2]),
    without=st.sampled_from([frozenset(), frozenset({"fuse_texts"})]),
)
def test_compiled_equals_eager(source: str, names: list[str], block_size: int | None, without: frozenset[str]) -> None:
    assume("join" not in names or source not in HOLDS_STR)  # of no words, eagerly, they are bytes

    def function(x: Any) -> Any:
        for name in names:
            x = STEPS[name](x)
        return x

    options = ps.Options(block_size=block_size, executor="inline", skip_rules=without)
    rows = ps.Dataset.from_tensor_slices(SOURCES[source]).with_options(options)
    compiled, eager = outcome(rows.map(function)), outcome(rows.map(function, compile=False))
    assert_same_elements(compiled, eager, f"{names} of {source}")


def test_words_are_joined_as_what_they_are() -> None:
    rows = ps.Dataset.from_tensor_slices(np.array(["The Cat", "sat"], dtype=object))
    function = lambda line: text.join(text.split(text.lower(line)), "+")  # noqa: E731
    assert list(rows.map(function)) == list(rows.map(function, compile=False)) == ["the+cat", "sat"]


def chain(line: Any) -> Any:
    return text.lookup(text.remove_stop_words(text.split(text.lower(line)), ["the"]), KNOWN)


@pytest.mark.parametrize("source", ["str", "bytes"])
def test_a_chain_is_one_pass(source: str) -> None:
    dataset = ps.Dataset.from_tensor_slices(SOURCES[source]).map(ps.function(chain))
    list(dataset)
    assert "one pass: lower, split, remove_stop_words, lookup(Vocabulary(4 words))" in dataset.explain()


@settings(max_examples=40)
@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=40),
    length_of=st.sampled_from([len, lambda x: x.shape[0], lambda x: len(x), lambda x: len(x) + 0, np.size]),
    options=st.sampled_from(
        [{}, {"drop_remainder": True}, {"padded_shapes": [7]}, {"padded_shapes": [4]}, {"padding_values": -1},
         {"no_padding": True}, {"padded_shapes": [None], "pad_to_bucket_boundary": True}]
    ),
    block_size=st.sampled_from([None, 1, 3]),
    words=st.booleans(),
)  # fmt: skip
def test_gathered_buckets_are_those_of_datasets(
    lengths: list[int], length_of: Any, options: dict[str, Any], block_size: int | None, words: bool
) -> None:
    lines = np.array([" ".join(["a"] * n) for n in lengths], dtype=object)
    if words:
        options = {name: value for name, value in options.items() if name != "padding_values"}
    dataset = (
        ps.Dataset.from_tensor_slices(lines)
        .map((lambda line: text.split(line)) if words else (lambda line: text.lookup(text.split(line), KNOWN)))
        .bucket_by_sequence_length(length_of, [2, 4], [3, 2, 1], **options)
        .random_map(lambda batch, rng: (batch, rng.random()))
    )
    run = {"block_size": block_size, "executor": "inline"}
    fast = outcome(dataset.with_options(ps.Options(**run)))
    slow = outcome(dataset.with_options(ps.Options(**run, skip_rules=frozenset({"gather_buckets"}))))
    assert_same_elements(fast, slow, f"{options}")


def test_specs_of_gathered_buckets_are_those_of_datasets() -> None:
    rows = ps.Dataset.from_tensor_slices(SOURCES["str"]).map(lambda line: text.length(text.split(line)))
    for options in ({}, {"drop_remainder": True}, {"padded_shapes": [9]}):
        dataset = rows.bucket_by_sequence_length(len, [2, 3], [2, 2, 2], **options)
        slow = dataset.with_options(ps.Options(skip_rules=frozenset({"gather_buckets"})))
        assert dataset.element_spec == slow.element_spec


def test_an_impure_length_is_asked_once_for_each_element() -> None:
    asked: list[int] = []

    def length_of(row: Any) -> int:
        asked.append(len(row))
        return len(row)

    rows = ps.Dataset.range(9).map(lambda n: np.arange(n % 4))
    list(rows.bucket_by_sequence_length(length_of, [2], [2, 2]))
    assert sorted(asked) == sorted(n % 4 for n in range(9))


def test_bytes_that_are_no_utf8_are_told_with_origin_and_offset() -> None:
    dataset = ps.Dataset.from_tensor_slices(SOURCES["broken"]).map(lambda x: text.lower(x, encoding="utf-8"))
    with pytest.raises(ps.errors.UserFunctionError, match=r"element 1 .*") as raised:
        list(dataset)
    assert "byte 1 of the text: invalid UTF-8: byte 0xff" in str(raised.value.__cause__)


def test_vocabularies_are_saved_with_their_pipeline() -> None:
    dataset = ps.Dataset.from_tensor_slices(SOURCES["str"]).map(chain)
    assert_same_elements(collect(ps.Dataset.from_bytes(dataset.to_bytes())), collect(dataset))


def test_tokenizers_take_whole_blocks() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    dataset = ps.Dataset.from_tensor_slices(SOURCES["bytes"])
    compiled = dataset.map(ps.function(lambda x: text.tokenize(x, tokenizer)))
    eager = dataset.map(lambda x: text.tokenize(x, tokenizer), compile=False)
    assert_same_elements(collect(compiled), collect(eager))
