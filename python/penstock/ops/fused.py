"""Parts of a program as one op, as plain data: what a rule puts in the place of single steps, and gives the same bytes.

`FusedImages`: read a file, decode a region of it, resize, adjust, write. `FusedTexts`: steps on texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.ops.program import Draw
from penstock.ops.text_steps import TextStep


@dataclass(frozen=True, slots=True)
class Region:
    """Which part of an image is needed: the op that says so, its constants, and where it draws from."""

    op: str
    args: tuple[Any, ...]
    draw: Draw | None


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One pointwise step, by the name the kernel gives it; `draw`: its amount is drawn, one an image."""

    name: str
    args: tuple[Any, ...] = ()
    draw: Draw | None = None

    def __str__(self) -> str:
        inner = ", ".join(str(arg) for arg in self.args)
        return f"{self.name}({inner})" if inner else self.name


@dataclass(frozen=True, slots=True)
class FusedImages:
    """The bytes of files, or their paths if it `reads`, in; images of one size out.

    file_format: "jpeg", "png", or "any" of those that decode_image takes. channels: 1, 3, or 0 for as stored. is_fast,
    allow_truncated, is_oriented: the options of decode_jpeg. size: (height, width) of the result. resizes: whether the
    region is resized to it, with `antialias`, or has it already. dtype, channels_first: of the result.
    """

    reads: bool
    file_format: str
    channels: int
    is_fast: bool
    allow_truncated: bool
    is_oriented: bool
    region: Region | None
    size: tuple[int, int]
    resizes: bool
    antialias: bool
    adjustments: tuple[Adjustment, ...]
    dtype: str
    channels_first: bool

    def __str__(self) -> str:
        parts = ["read"] if self.reads else []
        options = (self.is_fast, "fast"), (self.allow_truncated, "truncated ones too"), (self.is_oriented, "upright")
        said = ", ".join(name for is_set, name in options if is_set)
        kind = {"jpeg": "", "png": " PNG", "any": " any image"}[self.file_format]
        parts.append(f"decode{kind}" + (f" ({said})" if said else "") + (f" {self.region.op}" if self.region else ""))
        if self.resizes:
            parts.append(f"resize {self.size[0]} x {self.size[1]}")
        parts += [str(adjustment) for adjustment in self.adjustments]
        parts.append(f"{self.dtype}{' channels first' if self.channels_first else ''}")
        return "one pass: " + ", ".join(parts)


FUSED_TEXTS = "fused.texts"
"""The op of a step whose second argument is a `FusedTexts`."""


@dataclass(frozen=True, slots=True)
class FusedTexts:
    """Texts in; texts, rows of words, or the numbers of either out. A step that gives numbers is the last."""

    steps: tuple[TextStep, ...]

    def __str__(self) -> str:
        return "one pass: " + ", ".join(map(str, self.steps))
