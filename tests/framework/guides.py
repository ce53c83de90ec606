"""The how-to guides that need a framework, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "howto"


def run_guide(name: str) -> None:
    """Execute the Python blocks of a guide, one after the other."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (FOLDER / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    exec(compile("\n".join(blocks), name, "exec"), {"__name__": "__main__"})
