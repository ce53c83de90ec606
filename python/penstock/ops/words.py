"""Words: out of a row of them, into numbers, to a fixed length."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.block.collate import as_leaf
from penstock.block.padding import padding_value
from penstock.block.ragged import Ragged
from penstock.block.spec import text_dtype
from penstock.errors import DecodeError, InvalidArgumentError, MissingDependencyError
from penstock.ops.dtypes import as_dtype
from penstock.ops.program import op
from penstock.ops.text import as_bytes
from penstock.ops.text_steps import TextStep, apply
from penstock.ops.vocabulary import as_vocabulary

_LARGEST = {"int32": 2**31, "int64": 2**63}


@op
def remove_stop_words(words: Any, stop_words: Any = "english") -> Any:
    """A row of words without those that are among `stop_words`: a list, or the name of a language.

    Words are compared as they are: `lower` them first, as the lists of languages are. The lists are those of the
    package stop-words (BSD-3-Clause, 33 languages): pip install penstock[text].
    Raises: InvalidArgumentError: an unknown language; MissingDependencyError: the package is not installed.
    """
    return apply("remove_stop_words", words, remove_stop_words_step(stop_words))


@op
def ngrams(words: Any, width: int | Sequence[int], separator: str | bytes = " ") -> Any:
    """Every run of `width` words joined by `separator`; for several widths, the runs of one after those of another.

    A row of fewer words has none. Source: tf.strings.ngrams, without padding.
    """
    return apply("ngrams", words, ngrams_step(width, separator))


@op
def lookup(
    words: Any, vocabulary: Any, oov: int = -1, num_oov_buckets: int = 0, dtype: DTypeLike = np.int64
) -> NDArray[Any]:
    """The number of each word in `vocabulary`; a word that is not in it is `oov`.

    vocabulary: a `Vocabulary`; the path of a file with a word a line; or a list, of which one is made at each call
    where the function is not compiled. num_oov_buckets: words that are not in it get one of so many numbers behind its
    own instead, by `hash_bucket`, as in tf.lookup.StaticVocabularyTable. dtype: int64 or int32.
    Shapes: those of `words`. Source: tf.lookup.
    """
    step = lookup_step(vocabulary, oov, num_oov_buckets, dtype)
    found: NDArray[Any] = apply("lookup", words, step)
    return found


@op
def hash_bucket(words: Any, num_buckets: int) -> NDArray[np.int64]:
    """A number from 0 to num_buckets - 1 for each word, the same on every machine and in every version.

    FarmHash's Fingerprint64 of its UTF-8, modulo: what tf.strings.to_hash_bucket_fast gives.
    """
    found: NDArray[np.int64] = apply("hash_bucket", words, hash_bucket_step(num_buckets))
    return found


@op
def pad(row: Any, length: int, value: Any = None, truncate: bool = True) -> NDArray[Any]:
    """A row of numbers or words in an array of exactly `length`: cut at its end, or filled up with `value`.

    value: None is 0, or an empty text. truncate: False makes a row that is longer an error.
    Shapes: row [n] to [length]; a Ragged of n rows to [n, length].
    Raises: InvalidArgumentError: no row; one that is longer, without `truncate`; a value its dtype cannot hold.
    """
    if not hasattr(length, "__index__") or length < 0:
        raise InvalidArgumentError("pad: length", got=repr(length), expected="an integer of at least 0")
    rows = row if isinstance(row, Ragged) else np.asarray(as_leaf(row))
    if rows.ndim != 1 + isinstance(row, Ragged):
        raise InvalidArgumentError("pad: not a row", got=f"shape {rows.shape}", expected="a 1-D array or a Ragged")
    items = rows.values if isinstance(rows, Ragged) else rows
    lengths = rows.row_lengths() if isinstance(rows, Ragged) else np.array([len(rows)])
    check_lengths(lengths, int(length), truncate)
    out = np.full((len(lengths), int(length)), pad_value(value, items), dtype=items.dtype)
    for place, one in enumerate(rows if isinstance(rows, Ragged) else [rows]):
        out[place, : len(one)] = one[:length]
    return out if isinstance(rows, Ragged) else out[0]


def check_lengths(lengths: NDArray[Any], length: int, truncate: bool) -> None:
    """Raises: InvalidArgumentError: a row is longer, and may not be cut."""
    longest = int(lengths.max(initial=0))
    if longest > length and not truncate:
        raise InvalidArgumentError(
            "pad: a row is longer", got=f"{longest} items", expected=f"at most {length}", remedy="truncate=True cuts it"
        )


def pad_value(value: Any, items: NDArray[Any]) -> Any:
    """What rows of these items are filled up with. Raises: InvalidArgumentError: their dtype cannot hold it."""
    return padding_value("row", value, text_dtype(items) if items.dtype.kind == "O" else items.dtype)


@op
def tokenize(text: Any, tokenizer: Any, add_special_tokens: bool = True, dtype: DTypeLike = np.int32) -> NDArray[Any]:
    """The ids that a `tokenizers.Tokenizer` (of Hugging Face) gives a text: a 1-D array, as long as there are tokens.

    bytes are read as UTF-8. Whole blocks go to `encode_batch` at once, which uses all cores. The tokenizer must not be
    changed while a pipeline uses it; one that pads to the longest of a batch pads to the text itself here.
    Raises: InvalidArgumentError: no text; DecodeError: bytes that are no UTF-8.
    """
    return tokenize_batch([_as_str(text)], tokenizer, add_special_tokens, dtype)[0]


def tokenize_batch(
    texts: list[str], tokenizer: Any, add_special_tokens: bool = True, dtype: DTypeLike = np.int32
) -> list[NDArray[Any]]:
    """The ids of each text, as each alone has them."""
    target = np.dtype(dtype)
    if tokenizer.padding is not None and tokenizer.padding.get("length") is None:
        encodings = [tokenizer.encode(text, add_special_tokens=add_special_tokens) for text in texts]
    else:
        encodings = tokenizer.encode_batch(texts, add_special_tokens=add_special_tokens)
    return [np.array(encoding.ids, dtype=target) for encoding in encodings]


def _as_str(text: Any) -> str:
    if isinstance(text, np.ndarray) and text.ndim == 0:
        text = text.item()
    if isinstance(text, str):
        return str(text)
    if not isinstance(text, bytes):
        raise InvalidArgumentError(
            "tokenize: not a text", got=type(text).__name__, expected="bytes or str", remedy="map it before batch"
        )
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"tokenize: invalid UTF-8: {error.reason}", got=f"byte {text[error.start]:#04x}",
            where=f"byte {error.start} of the text",
        ) from None  # fmt: skip


def decoded(texts: list[Any]) -> list[str]:
    """Texts as str. Raises: DecodeError, InvalidArgumentError: as `tokenize`."""
    return [_as_str(text) for text in texts]


def remove_stop_words_step(stop_words: Any = "english") -> TextStep:
    """The step of `remove_stop_words`; these have the arguments of the ops, without the words."""
    if isinstance(stop_words, str):
        return TextStep("remove_stop_words", (_stop_words_of(stop_words),))
    words = tuple(dict.fromkeys(stop_words))
    if not all(isinstance(word, str | bytes) for word in words):
        raise InvalidArgumentError("remove_stop_words", got=repr(stop_words)[:80], expected="a language, or words")
    return TextStep("remove_stop_words", (words,))


@lru_cache(64)
def _stop_words_of(language: str) -> tuple[str, ...]:
    try:
        import stop_words
    except ImportError:
        raise MissingDependencyError(
            "remove_stop_words: the lists of languages are in another package", got="no module stop_words",
            remedy='pip install "penstock[text]", or give a list of words',
        ) from None  # fmt: skip
    try:
        words = stop_words.get_stop_words(language)
    except stop_words.StopWordError:
        known = ", ".join(sorted(stop_words.AVAILABLE_LANGUAGES))
        raise InvalidArgumentError(
            "remove_stop_words: language", got=repr(language), expected=f"one of {known}"
        ) from None
    return tuple(dict.fromkeys(words))


def ngrams_step(width: Any, separator: str | bytes = " ") -> TextStep:
    """The step of `ngrams`."""
    widths = [width] if isinstance(width, int | np.integer) else list(width)
    if not widths or not all(isinstance(one, int | np.integer) and one >= 1 for one in widths):
        raise InvalidArgumentError("ngrams: width", got=repr(width), expected="an integer above 0, or several")
    return TextStep("ngrams", (tuple(map(int, widths)), as_bytes("ngrams: separator", separator)))


def lookup_step(vocabulary: Any, oov: int = -1, num_oov_buckets: int = 0, dtype: DTypeLike = np.int64) -> TextStep:
    """The step of `lookup`."""
    words, name = as_vocabulary(vocabulary), as_dtype(dtype).name
    if name not in _LARGEST:
        raise InvalidArgumentError("lookup: dtype", got=name, expected="int64 or int32")
    if num_oov_buckets < 0:
        raise InvalidArgumentError("lookup: num_oov_buckets", got=num_oov_buckets, expected=">= 0")
    largest = max(len(words) + int(num_oov_buckets) - 1, int(oov))
    if largest >= _LARGEST[name] or oov < -_LARGEST[name]:
        raise InvalidArgumentError("lookup: dtype", got=f"{name} for numbers from {oov} to {largest}", remedy="int64")
    return TextStep("lookup", (words, int(oov), int(num_oov_buckets)), name)


def hash_bucket_step(num_buckets: int) -> TextStep:
    """The step of `hash_bucket`."""
    if num_buckets < 1:
        raise InvalidArgumentError("hash_bucket: num_buckets", got=num_buckets, expected="at least 1")
    return TextStep("hash_bucket", (int(num_buckets),), "int64")
