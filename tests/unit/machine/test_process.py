from __future__ import annotations

import multiprocessing
import os

import pytest

from penstock.machine.process import WORKER_MARK, is_helper


def _told(queue: multiprocessing.SimpleQueue[bool]) -> None:
    queue.put(is_helper())


def test_a_process_of_the_users_is_no_helper() -> None:
    assert not is_helper()


def test_workers_and_what_they_start_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKER_MARK, "1")
    assert is_helper()


def test_children_of_multiprocessing_are() -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    child = context.Process(target=_told, args=(queue,))
    child.start()
    assert queue.get()
    child.join()


def test_a_fork_is() -> None:
    pid = os.fork()
    if not pid:
        os._exit(int(is_helper()))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
