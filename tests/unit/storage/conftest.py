"""A server for each test; the threads that read end with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.storage import process
from tests.unit.storage.server import ObjectServer, serving

pytest.importorskip("obstore")


@pytest.fixture
def server() -> Iterator[ObjectServer]:
    with serving() as found:
        yield found
        process.close()
