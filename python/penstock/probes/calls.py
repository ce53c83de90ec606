"""What a frame of the user's is in the middle of: the call at one instruction, by its own words, from the source."""

from __future__ import annotations

import ast
import linecache
import re
from itertools import islice
from types import CodeType

_DECODES = re.compile(
    r"imdecode|imread|decode_?(jpeg|jpg|png|image|bmp|webp)|read_image|Image\.open|\bimopen", re.IGNORECASE
)
_DECODERS = ("PIL/ImageFile.py", "PIL/Image.py:draft", "torchvision/io/image.py", "imageio/", "turbojpeg.py")


def call_at(code: CodeType, instruction: int) -> tuple[str, int]:
    """`cv2.imdecode` and its line, for the call that `code` is in at byte `instruction`; "" for what is no call.

    Cost: reads the source once; a file that is gone gives "".
    """
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    line = position[0] if position is not None else None
    if position is None or line is None:
        return "", code.co_firstlineno
    text = _between(code.co_filename, line, position[1] or line, position[2], position[3])
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return "", line
    return (_name(parsed.func), line) if isinstance(parsed, ast.Call) else ("", line)


def is_decoding_name(name: str) -> bool:
    """Whether a function or an op of this name decodes images."""
    return bool(_DECODES.search(name))


def is_decoding(call: str, leaf: CodeType) -> bool:
    """Whether a call decodes an image, by its name or by the library function it is in."""
    return is_decoding_name(call) or any(part in f"{leaf.co_filename}:{leaf.co_name}" for part in _DECODERS)


def _between(file: str, line: int, end_line: int, column: int | None, end_column: int | None) -> str:
    lines = [linecache.getline(file, number) for number in range(line, end_line + 1)]
    if not lines or column is None or end_column is None:
        return "".join(lines)
    encoded = [one.encode() for one in lines]  # columns count bytes
    encoded[-1] = encoded[-1][:end_column]
    encoded[0] = encoded[0][column:]
    return b"".join(encoded).decode(errors="replace")


def _name(function: ast.expr) -> str:
    """`a.b.c` of names; of a method of something computed, `.c`."""
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        inner = function.value
        return f"{_name(inner)}.{function.attr}" if isinstance(inner, ast.Name | ast.Attribute) else f".{function.attr}"
    return ""
