"""The page of what a traced function may call says what the table of rules says."""

from __future__ import annotations

from pathlib import Path

from penstock.trace.reference import reference_page
from penstock.trace.rules import FUNCTIONS, METHODS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "traced-functions.md"


def test_the_page_is_made_from_the_table():
    assert PAGE.read_text() == reference_page(), (
        "python -m penstock.trace.reference > docs/reference/traced-functions.md"
    )


def test_the_page_names_every_function_and_method():
    page = reference_page()
    assert all(f"`{name}`" in page for name in FUNCTIONS)
    assert all(f"`.{name}`" in page for name in METHODS if name != "getitem")
