"""Which releases a probe was tested with: others are probed where they still have the same parts, and it is said."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from penstock.errors import PenstockError


class UnknownVersionError(PenstockError, RuntimeError):
    """A framework too old for its probe, or without what the probe takes hold of."""


@dataclass(frozen=True, slots=True)
class Releases:
    """A probe's releases, as (major, minor), both included."""

    name: str
    least: tuple[int, int]
    most: tuple[int, int]

    def note(self, version: str) -> str:
        """What is to be said of this version; "": nothing. Raises: UnknownVersionError: it is too old."""
        found = re.match(r"(\d+)\.(\d+)", version)
        if found is None:
            return f"{self.name} {version}: an unknown version; instrumented as {_shown(self.most)}"
        release = int(found[1]), int(found[2])
        if release < self.least:
            raise UnknownVersionError(
                f"{self.name} is not instrumented", got=version, expected=f"{_shown(self.least)} or newer"
            )
        if release > self.most:
            return f"{self.name} {version} is newer than {_shown(self.most)}, the last that its probe was tested with"
        return ""

    def require(self, owner: Any, *names: str) -> None:
        """Raises: UnknownVersionError: `owner` lacks one of `names`."""
        missing = [name for name in names if not hasattr(owner, name)]
        if missing:
            raise UnknownVersionError(
                f"{self.name} is not instrumented", got=f"{getattr(owner, '__name__', owner)} without {missing[0]}",
                expected="the parts of the releases it was tested with",
            )  # fmt: skip


def _shown(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"
