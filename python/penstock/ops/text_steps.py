"""Steps on texts as data, and how one value is taken through them. A fused step of a program is several of them.

A text is bytes or str. What an op takes is a text, an array of texts of any shape, or a Ragged of them; a row of words
is a 1-D array. Results are what the arguments were: bytes give bytes, str gives str.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.collate import as_leaf
from penstock.block.ragged import Ragged, Splits
from penstock.block.spec import BYTES, STR, text_array, text_dtype
from penstock.errors import InvalidArgumentError, PenstockError
from penstock.kernels.text import TextPattern, number_rows, text_rows
from penstock.ops.vocabulary import word_table

EACH = frozenset({"lower", "upper", "strip", "regex_replace"})
"""Steps that make one text of each."""
ROWS = frozenset({"remove_stop_words", "ngrams"})
"""Steps that make a row of words of a row of words."""
NUMBERS = frozenset({"lookup", "hash_bucket", "length"})
"""Steps that make a number of each text."""


@dataclass(frozen=True, slots=True)
class TextStep:
    """One step by its name in `penstock.text`, and its arguments behind the text, all of them.

    dtype: of the numbers it gives; "" where it gives texts.
    """

    name: str
    args: tuple[Any, ...] = ()
    dtype: str = ""

    def __str__(self) -> str:
        if self.name in ("lookup", "hash_bucket"):
            return f"{self.name}({self.args[0]!r})"
        return self.name


def native(step: TextStep, is_str: bool) -> tuple[Any, ...]:
    """The step as the kernel takes it."""
    name, args = step.name, step.args
    if name in ("lower", "upper", "strip"):
        return (name, args[0] == "utf-8")
    if name == "regex_replace":
        return ("replace", compiled_pattern(args[0], args[1], is_str), args[2])
    if name == "split":
        return ("split", False, args[0], args[1])
    if name == "remove_stop_words":
        return ("drop", _table_of(args[0]))
    if name in ("ngrams", "join"):
        return (name, *args)
    if name == "lookup":
        return ("id", args[0].table, args[1], args[2])
    return ("hash", args[0]) if name == "hash_bucket" else ("length", args[0] == "UTF8_CHAR" or is_str)


@lru_cache(256)
def compiled_pattern(pattern: str, rewrite: str, is_str: bool) -> TextPattern:
    """Raises: InvalidArgumentError: pattern or rewrite is wrong; says where."""
    try:
        return TextPattern(pattern, rewrite, is_str)
    except ValueError as error:
        reason = str(error).rpartition("error: ")[2]
        raise InvalidArgumentError(
            "regex_replace: not a pattern and a rewrite of it", got=f"{pattern!r}, {rewrite!r} ({reason})"
        ) from None


@lru_cache(64)
def _table_of(words: tuple[Any, ...]) -> Any:
    return word_table("remove_stop_words", list(words))


def apply(op: str, value: Any, step: TextStep) -> Any:
    """`value` after one step.

    Raises: InvalidArgumentError: no text, or of a rank the step does not take; TextError: it is no UTF-8.
    """
    leaf = value if isinstance(value, Ragged) else _leaf(op, value)
    if step.name == "split":
        return _split(op, leaf, step)
    if step.name in ROWS or step.name == "join":
        return _rowwise(op, leaf, step)
    if isinstance(leaf, Ragged):
        return Ragged(_each(leaf.values, step), leaf.row_splits) if leaf.ragged_rank == 1 else _inner(op, leaf, step)
    return _each(leaf, step)


def _inner(op: str, ragged: Ragged, step: TextStep) -> Ragged:
    return Ragged(apply(op, ragged.values, step), ragged.row_splits)


def _leaf(op: str, value: Any) -> Any:
    """A text or an object array of texts. Raises: InvalidArgumentError."""
    if type(value) is str or type(value) is bytes:
        return value
    try:
        leaf = as_leaf(value)
    except PenstockError as error:
        raise _not_text(op, str(error.got or error)) from None
    if (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "O") or isinstance(leaf, str | bytes):
        return leaf
    if isinstance(leaf, np.ndarray) and not leaf.size and leaf.dtype.kind == "f":  # an empty list
        return leaf.astype(object)
    raise _not_text(op, f"{type(leaf).__name__}{getattr(leaf, 'shape', '')} of {np.asarray(leaf).dtype}")


def _not_text(op: str, got: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{op}: not text", got=got, expected="bytes, str, or an array or Ragged of them")


def _is_str(texts: NDArray[Any]) -> bool:
    return text_dtype(texts) == STR


def _each(leaf: Any, step: TextStep) -> Any:
    """A text or an array of them, one by one."""
    if not isinstance(leaf, np.ndarray):
        made = _run([leaf], None, step, isinstance(leaf, str))[0]
        return made[0]
    is_str = _is_str(leaf)
    made, _ = _run(leaf.ravel().tolist(), None, step, is_str)
    if isinstance(made, np.ndarray):
        return made.reshape(leaf.shape)
    return as_texts(made, is_str).reshape(leaf.shape)


def _run(texts: list[Any], splits: Any, step: TextStep, is_str: bool) -> tuple[Any, Splits]:
    """`splits` None: one text a row."""
    if step.name in NUMBERS:
        return number_rows(texts, splits, (), native(step, is_str), np.dtype(step.dtype))
    return text_rows(texts, splits, (native(step, is_str),))


def as_texts(texts: list[Any], is_str: bool) -> NDArray[Any]:
    """[n] objects, which know what they hold where they hold nothing."""
    return text_array(texts, STR if is_str else BYTES)


def _split(op: str, leaf: Any, step: TextStep) -> Any:
    if isinstance(leaf, Ragged) or (isinstance(leaf, np.ndarray) and leaf.ndim != 1):
        raise InvalidArgumentError(
            f"{op}: texts of this shape", got=str(leaf.shape), expected="one text, or a 1-D array of texts"
        )
    is_str = isinstance(leaf, str) if not isinstance(leaf, np.ndarray) else _is_str(leaf)
    texts = leaf.tolist() if isinstance(leaf, np.ndarray) else [leaf]
    made, splits = text_rows(texts, None, (native(step, is_str),))
    words = as_texts(made, is_str)
    return Ragged(words, splits) if isinstance(leaf, np.ndarray) else words


def _rowwise(op: str, leaf: Any, step: TextStep) -> Any:
    """Rows of words: a 1-D array is one, a Ragged or a 2-D array has several."""
    if isinstance(leaf, Ragged) and leaf.ragged_rank == 1 and leaf.values.ndim == 1:
        words, splits, one = leaf.values, leaf.row_splits.astype(np.int64), False
    elif isinstance(leaf, np.ndarray) and leaf.ndim in (1, 2):
        words, one = leaf.ravel(), leaf.ndim == 1
        count, width = (1, leaf.size) if one else leaf.shape
        splits = np.arange(count + 1, dtype=np.int64) * width
    else:
        raise InvalidArgumentError(
            f"{op}: not words", got=f"shape {leaf.shape}" if hasattr(leaf, "shape") else type(leaf).__name__,
            expected="a 1-D array of words, or a Ragged of them",
            remedy="split the text first" if isinstance(leaf, str | bytes) else None,
        )  # fmt: skip
    is_str = _is_str(words)
    made, ends = text_rows(words.tolist(), splits, (native(step, is_str),))
    if step.name == "join":
        return made[0] if one else as_texts(made, is_str)
    kept = as_texts(made, is_str)
    return kept if one else Ragged(kept, ends)
