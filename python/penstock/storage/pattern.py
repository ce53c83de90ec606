"""Glob patterns over the names in a store: which folder holds all that may match, and what does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.storage.url import address_of

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """root: of the store. folder: above all that matches. is_deep: whether what matches may be in folders within."""

    root: str
    folder: str
    is_deep: bool
    regex: re.Pattern[str]

    @classmethod
    def of(cls, url: str) -> Pattern | None:
        """The pattern in `url`; None for http, where nothing lists names."""
        if url.startswith("http"):
            return None
        address = address_of(url)
        parts = address.key.split("/")
        literal = next((place for place, part in enumerate(parts[:-1]) if _WILD.search(part)), len(parts) - 1)
        rest = parts[literal:]
        regex = "/".join([*map(re.escape, parts[:literal]), ""]) + _translated(rest)
        return cls(address.root, "/".join(parts[:literal]), len(rest) > 1 or rest == ["**"], re.compile(regex))

    def matches(self, key: str) -> bool:
        """Whether the name does."""
        return self.regex.fullmatch(key) is not None


def is_pattern(url: str) -> bool:
    """Whether `url` has what stands for other characters; of http, a query has none."""
    return _WILD.search(url.partition("?")[0] if url.startswith("http") else url) is not None


def _translated(parts: list[str]) -> str:
    """The regular expression of path parts: `*` and `?` match no slash; `**` as a whole part any folders, or none.

    As `glob` has it, names that begin with a dot are matched by no wildcard.
    """
    text = ""
    for place, part in enumerate(parts):
        is_last = place == len(parts) - 1
        if part == "**":
            text += r"(?:[^/.][^/]*/)*" + (r"[^/.][^/]*" if is_last else "")
        else:
            text += _translated_part(part) + ("" if is_last else "/")
    return text


def _translated_part(part: str) -> str:
    text = r"(?!\.)" if part[:1] in ("*", "?", "[") else ""
    place = 0
    while place < len(part):
        character = part[place]
        place += 1
        if character == "*":
            text += "[^/]*"
        elif character == "?":
            text += "[^/]"
        elif character == "[" and (stop := part.find("]", place + 1 + part.startswith("!", place))) > 0:
            inside = re.sub(r"([\\\[])", r"\\\1", part[place:stop])
            text += f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
            place = stop + 1
        else:
            text += re.escape(character)
    return text
