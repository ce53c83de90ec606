"""Texts one by one: case, spaces, patterns, splitting, joining, lengths. Names of tf.strings; semantics of Python's.

Each takes a text, an array of texts or a Ragged of them; see `text_steps`. str is Unicode, as Python's methods have it.
bytes are ASCII: other bytes stay as they are, as in Python and TensorFlow; with `encoding="utf-8"` they are Unicode
too, and bytes that are no UTF-8 are a DecodeError with their offset.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.ops.program import op
from penstock.ops.text_steps import TextStep, apply, compiled_pattern


@op
def lower(text: Any, encoding: str = "") -> Any:
    """In lower case, as `str.lower` and `bytes.lower`; `encoding="utf-8"` for bytes as `str.lower` too.

    Source: tf.strings.lower. Unicode is that of Rust's standard library.
    """
    return apply("lower", text, lower_step(encoding))


@op
def upper(text: Any, encoding: str = "") -> Any:
    """In upper case, as `lower`."""
    return apply("upper", text, upper_step(encoding))


@op
def strip(text: Any, encoding: str = "") -> Any:
    """Without the white space at both ends, as `str.strip()` and `bytes.strip()`. Source: tf.strings.strip."""
    return apply("strip", text, strip_step(encoding))


@op
def regex_replace(text: Any, pattern: str, rewrite: str, replace_global: bool = True) -> Any:
    r"""Every match of `pattern`, or with `replace_global=False` the first, replaced by `rewrite`.

    The syntax is RE2's, near enough (Rust's regex): no look-around and no back-references, and so no pattern takes more
    than linear time. In `rewrite` \1 to \9 are groups, \0 the match, \\ a backslash; `$` is itself. In bytes \d, \s,
    \w and \b know ASCII alone, as in TensorFlow, while `.` and [^a] are whole characters of UTF-8, and match no byte
    that is none; in str they know Unicode, as in Python's `re`.
    Raises: InvalidArgumentError: what is wrong with the pattern, or `rewrite`. Source: tf.strings.regex_replace.
    """
    return apply("regex_replace", text, regex_replace_step(pattern, rewrite, replace_global))


@op
def split(text: Any, sep: str | bytes | None = None, maxsplit: int = -1) -> Any:
    """The pieces between white space, or around `sep`: a 1-D array, as long as there are pieces; at most maxsplit + 1.

    As `str.split` and `bytes.split`: runs of white space count as one and give no empty pieces, separators do. An array
    of texts [n] gives a Ragged of n rows. Source: tf.strings.split.
    """
    return apply("split", text, split_step(sep, maxsplit))


@op
def join(words: Any, separator: str | bytes = "") -> Any:
    """A row of words as one text; a Ragged, or an array [n, k], as n texts. Source: tf.strings.reduce_join.

    Of no words at all bytes, outside a compiled function: there is none that says it is str.
    """
    return apply("join", words, join_step(separator))


@op
def length(text: Any, unit: str = "BYTE") -> Any:
    """How long each text is, int32: str in characters; bytes in bytes, or characters with `unit="UTF8_CHAR"`.

    For how many words there are: `words.shape[0]`. Source: tf.strings.length.
    """
    return apply("length", text, length_step(unit))


def lower_step(encoding: str = "") -> TextStep:
    """The step of `lower`; these have the arguments of the ops, without the text."""
    return TextStep("lower", (_encoding("lower", encoding),))


def upper_step(encoding: str = "") -> TextStep:
    """The step of `upper`."""
    return TextStep("upper", (_encoding("upper", encoding),))


def strip_step(encoding: str = "") -> TextStep:
    """The step of `strip`."""
    return TextStep("strip", (_encoding("strip", encoding),))


def regex_replace_step(pattern: Any, rewrite: Any, replace_global: bool = True) -> TextStep:
    """The step of `regex_replace`."""
    if not isinstance(pattern, str) or not isinstance(rewrite, str):
        raise InvalidArgumentError(
            "regex_replace: pattern and rewrite", got=f"{pattern!r}, {rewrite!r}", expected="str, for texts of any kind"
        )
    compiled_pattern(pattern, rewrite, False)
    return TextStep("regex_replace", (pattern, rewrite, bool(replace_global)))


def split_step(sep: str | bytes | None = None, maxsplit: int = -1) -> TextStep:
    """The step of `split`."""
    separator = None if sep is None else as_bytes("split: sep", sep)
    if separator == b"":
        raise InvalidArgumentError("split: sep", got=repr(sep), expected="some text, or None for white space")
    return TextStep("split", (separator, None if maxsplit < 0 else int(maxsplit)))


def join_step(separator: str | bytes = "") -> TextStep:
    """The step of `join`."""
    return TextStep("join", (as_bytes("join: separator", separator),))


def length_step(unit: str = "BYTE") -> TextStep:
    """The step of `length`."""
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise InvalidArgumentError("length: unit", got=repr(unit), expected='"BYTE" or "UTF8_CHAR"')
    return TextStep("length", (unit,), "int32")


def as_bytes(what: str, text: str | bytes) -> bytes:
    """A separator as UTF-8."""
    if isinstance(text, str | bytes):
        return text.encode() if isinstance(text, str) else text
    raise InvalidArgumentError(what, got=repr(text), expected="str or bytes")


def _encoding(name: str, encoding: str) -> str:
    if encoding in ("", "utf-8"):
        return encoding
    raise InvalidArgumentError(f"{name}: encoding", got=repr(encoding), expected='"" for ASCII, or "utf-8"')
