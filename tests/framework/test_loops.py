"""`to_torch` and `to_jax`, each in a process of its own."""

from __future__ import annotations

import pytest

from tests.framework.behaviours import run_behaviours


@pytest.mark.framework
@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_a_loop_is_fed_right(framework: str) -> None:
    run_behaviours([f"{framework}_behaviours.py"], needs=[framework])
