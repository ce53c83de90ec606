"""Slow twins of `kernels.text`: the same steps by Python's own methods of bytes and str, one row after another.

They agree to the last byte, but for letters that one of two versions of Unicode does not know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

Texts = list[Any]


def text_rows(rows: Sequence[Texts], steps: Sequence[tuple[Any, ...]], kind: type[str] | type[bytes]) -> list[Texts]:
    """The texts of `kind` that `steps` make of each row.

    ("replace", pattern, rewrite, all) takes a pattern that `re` reads as RE2 does.
    """
    made = []
    for row in rows:
        texts = list(row)
        for step in steps:
            texts = _after(kind, texts, *step)
        made.append(texts)
    return made


def _after(kind: type[str] | type[bytes], texts: Texts, name: str, *args: Any) -> Texts:
    if name in ("lower", "upper", "strip"):
        return [_method(text, name, args[0]) for text in texts]
    if name == "split":
        _, separator, most = args
        at = None if separator is None else _of(kind, separator)
        return [piece for text in texts for piece in text.split(at, -1 if most is None else most)]
    if name == "replace":
        pattern, rewrite, all_of_them = args
        replace = re.compile(pattern, re.ASCII if kind is bytes else 0)
        new = rewrite.replace("\\0", "\\g<0>")
        return [_replaced(text, replace, new, 0 if all_of_them else 1) for text in texts]
    if name == "drop":
        words = {word if isinstance(word, bytes) else word.encode() for word in args[0]}
        return [text for text in texts if (text if isinstance(text, bytes) else text.encode()) not in words]
    if name == "ngrams":
        widths, separator = args
        glue = _of(kind, separator)
        return [glue.join(texts[at : at + n]) for n in widths for at in range(len(texts) - n + 1)]
    return [_of(kind, args[0]).join(texts)]


def _method(text: Any, name: str, utf8: bool) -> Any:
    if isinstance(text, bytes) and utf8:
        return getattr(text.decode(), name)().encode()
    return getattr(text, name)()


def _replaced(text: Any, pattern: re.Pattern[str], rewrite: str, count: int) -> Any:
    if isinstance(text, str):
        return pattern.sub(rewrite, text, count=count)
    return pattern.sub(rewrite, text.decode(), count=count).encode()


def _of(kind: type[str] | type[bytes], text: bytes) -> Any:
    return text if kind is bytes else text.decode()
