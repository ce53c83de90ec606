"""Vocabulary: words by number, made once."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from penstock.errors import InvalidArgumentError, ReadError
from penstock.kernels.text import WordTable


@dataclass(frozen=True, slots=True, repr=False)
class Vocabulary:
    """Words and their numbers: word i of the list is number i. What `lookup` takes; made once, used by every thread.

    words: str or bytes, which counts as equal to str of the same UTF-8; each once.
    Raises: InvalidArgumentError: a word that comes twice, or is no text. Cost: some 0.2 us a word, once.
    """

    words: tuple[Any, ...]
    table: Any = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.words, str | bytes):
            raise InvalidArgumentError(
                "Vocabulary: words", got=f"{self.words!r:.80}", expected="a list of words",
                remedy="Vocabulary.from_file(path) reads a file",
            )  # fmt: skip
        words = list(self.words)
        object.__setattr__(self, "words", tuple(words))
        object.__setattr__(self, "table", word_table("Vocabulary", words))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Vocabulary:
        r"""One word a line, as TensorFlow's TextFileInitializer reads it: bytes up to a newline, without \r before it.

        Raises: ReadError: the file cannot be read; InvalidArgumentError: a word comes twice, with both lines.
        """
        name = os.fspath(path)
        try:
            with open(name, "rb") as file:
                lines = file.read().split(b"\n")
        except OSError as error:
            raise ReadError("cannot read the vocabulary", got=error.strerror or str(error), where=name) from error
        if lines and not lines[-1]:
            lines.pop()
        try:
            return cls(tuple(line.removesuffix(b"\r") for line in lines))
        except InvalidArgumentError as error:
            raise error.at(name) from None

    def __len__(self) -> int:
        return len(self.words)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.words,)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"


def as_vocabulary(words: Any) -> Vocabulary:
    """A list of words, the path of a file with one a line, or a Vocabulary itself.

    A file is read again when it changed (its size or the time of its last change); a list is taken as it is now.
    """
    if isinstance(words, Vocabulary):
        return words
    if isinstance(words, str | os.PathLike):
        name = os.fspath(words)
        try:
            status = os.stat(name)
        except OSError as error:
            raise ReadError("cannot read the vocabulary", got=error.strerror or str(error), where=str(name)) from error
        return _of_file(str(name), status.st_mtime_ns, status.st_size)
    return Vocabulary(tuple(words))


@lru_cache(8)
def _of_file(path: str, changed_ns: int, size: int) -> Vocabulary:
    return Vocabulary.from_file(path)


def word_table(what: str, words: list[Any]) -> WordTable:
    """The table of `words`. Raises: InvalidArgumentError: one comes twice, or is no text."""
    try:
        return WordTable(words)
    except TypeError as error:
        raise InvalidArgumentError(f"{what}: a word that is no text", got=str(error)) from None
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{what}: a word that has no UTF-8", got=repr(error.object)) from None
    except ValueError as error:
        first, second = error.args
        raise InvalidArgumentError(
            f"{what}: a word comes twice", got=f"{words[second]!r} at {first} and {second}", expected="each once",
            remedy="list(dict.fromkeys(words)) keeps the first of each",
        ) from None  # fmt: skip
