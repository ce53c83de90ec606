"""A worker that is gone is named once TensorFlow has given up on it."""

from __future__ import annotations

import sys

import pytest

from penstock.train.strategy.lost_worker import is_of_lost_worker, lost_worker, tell_of_lost_worker
from penstock.train.strategy.tf_config import Cluster

CLUSTER = Cluster(("a:1", "b:2", "c:3"), 1)


class UnavailableError(Exception):
    __module__ = "tensorflow.python.framework.errors_impl"


def test_the_one_that_does_not_answer_is_named() -> None:
    said = lost_worker(CLUSTER, answers=lambda address: address != "c:3")
    assert "rank 2 (c:3) of 3 was lost; rank 1 cannot go on" in said
    assert "another process, which answers still" in lost_worker(CLUSTER, answers=lambda address: True)


def test_only_errors_of_collectives_are_of_a_lost_worker() -> None:
    assert is_of_lost_worker(UnavailableError("Collective ops is aborted by: Socket closed"))
    assert not is_of_lost_worker(UnavailableError("the file server is down"))
    assert not is_of_lost_worker(RuntimeError("Collective ops"))


def test_it_is_told_below_the_traceback_until_taken_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, traceback: seen.append(error))
    before = sys.excepthook
    undo = tell_of_lost_worker(Cluster(("127.0.0.1:1", "127.0.0.1:2"), 0))
    lost, other = UnavailableError("Collective ops is aborted"), ValueError("else")
    for error in (other, lost):
        sys.excepthook(type(error), error, None)
    assert seen == [other, lost]
    assert capsys.readouterr().err.count("penstock: rank 1 (127.0.0.1:2) of 2 was lost") == 1
    undo()
    assert sys.excepthook is before
