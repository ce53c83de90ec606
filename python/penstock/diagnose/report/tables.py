"""Tables and headings of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def section(title: str, content: str) -> str:
    """A heading and what belongs to it; "" without content."""
    return f"<h2>{escape(title)}</h2>{content}" if content else ""


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, last_is_html: bool = False, wide: Sequence[int] = ()
) -> str:
    """A table that scrolls by itself where it is too wide; "" without rows.

    last_is_html: of the last column, which is then not escaped. wide: columns that a narrow screen does not show.
    """
    if not rows:
        return ""
    kinds = [_kind([row[n] for row in rows], is_wide=n in wide) for n in range(len(head))]
    titles = "".join(f"<th{kind}>{escape(cell)}</th>" for kind, cell in zip(kinds, head, strict=True))
    lines = []
    for row in rows:
        cells = [_indented(cell) for cell in row]
        if last_is_html:
            cells[-1] = row[-1]
        lines.append("".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, cells, strict=True)))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def bar(text: str, share: float) -> str:
    """A number with a bar under it, full at 1."""
    over = " over" if share >= 0.9 else ""
    return f'{escape(text)}<span class="bar{over}" style="width:{min(max(share, 0.0), 1.0):.1%}"></span>'


def _kind(column: Sequence[str], *, is_wide: bool) -> str:
    """The class of a column: words stand on the left and may wrap, numbers do not."""
    words = ["words"] if any(len(cell) > 24 and "<span" not in cell for cell in column) else []
    names = [*words, *(["wide"] if is_wide else [])]
    return f' class="{" ".join(names)}"' if names else ""


def _indented(cell: str) -> str:
    inner = escape(cell.lstrip())
    return f'<span style="padding-left:1rem" class="soft">{inner}</span>' if cell.startswith("  ") else inner
