"""The page: one HTML file with everything in it, pictures too; no script, nothing loaded from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from pathlib import Path

from penstock.cli.inspect.formats import Found
from penstock.cli.inspect.look import Look, picture_of, text_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; } td, th { text-align: left; padding: .25rem .75rem .25rem 0;
border-bottom: 1px solid #ddd; vertical-align: top; } code { overflow-wrap: anywhere; } img { display: block;
max-width: 16rem; image-rendering: auto; }
"""


def write_page(target: Path, path: Path, found: Found, look: Look, verdict: list[str] | None) -> None:
    """Write the page. Raises: OSError."""
    title = escape(str(path))
    rows = "".join(_row("td", (name, value)) for name, value in (("format", found.format), *found.facts))
    parts = [f"<h1>{title}</h1>", f"<table>{rows}</table>"]
    if look.features:
        head = _row("th", ("feature", "of", "bytes", "values"))
        body = "".join(_row("td", (f.name, str(f.spec), f.size_text, f.range_text)) for f in look.features)
        parts.append(f"<h2>Features of the first {look.count}</h2><table>{head}{body}</table>")
    for number, sample in enumerate(look.samples):
        cells = "".join(
            f"<tr><td>{escape(name)}</td><td>{_picture(value)}<code>{escape(text_of(value))}</code></td></tr>"
            for name, value in sample
        )
        parts.append(f"<h2>Element {number}</h2><table>{cells}</table>")
    if verdict is not None:
        items = "".join(f"<li>{escape(line)}</li>" for line in verdict)
        outcome = "wrong:" if verdict else "right"
        parts.append(f"<h2>Verified</h2><p>{escape(found.checks)}: {outcome}</p><ul>{items}</ul>")
    target.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"{''.join(parts)}</html>\n",
        encoding="utf-8",
        errors="replace",
    )


def _row(cell: str, values: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(value)}</{cell}>' for value in values)}</tr>"


def _picture(value: object) -> str:
    data = picture_of(value)
    return "" if data is None else f'<img alt="" src="data:image/png;base64,{b64encode(data).decode()}">'
