"""Checks for your own pipelines and sources: that they give the same bytes however they run, and resume anywhere.

from penstock.testing import assert_deterministic, assert_resumable

def test_my_pipeline():
    assert_deterministic(my_pipeline())
    assert_resumable(my_pipeline)
"""

from penstock.testing.checks import assert_deterministic, assert_resumable
from penstock.testing.elements import assert_same_elements, collect, freeze

__all__ = ["assert_deterministic", "assert_resumable", "assert_same_elements", "collect", "freeze"]
