"""The main of a worker process: a fresh interpreter that runs blocks through functions until its trainer ends.

It never sees the user's main script. It ignores Ctrl-C, which the trainer handles; it dies by signal, whatever it is
doing, when the trainer's end of the lifeline closes, so it cannot outlive it.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import math
import os
import select
import signal
import socket
import sys
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, holds_datasets
from penstock.block.columns import Array
from penstock.engine.buffers import BufferPool
from penstock.engine.executors.link import Link, Stack
from penstock.engine.executors.wire import (
    Answer,
    Task,
    node_of,
    pack_block,
    pack_error,
    pack_log,
    unpack_block,
    with_failure,
)
from penstock.engine.operators.segments import BlockFunction, block_function
from penstock.engine.reads import engine_clock
from penstock.engine.scope import Scope, Services
from penstock.errors import UnsupportedValueError
from penstock.storage.surroundings import reading_for

READY = "ready"
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGEST_ON_HEAP = 32 * 2**20  # what glibc takes at most
_KEPT_BYTES = 256 * 2**20
_LATER = Failure(AssertionError("this failure stayed with the trainer"))


def main(connection: int, lifeline: int) -> None:
    """Answer tasks from the socket `connection`; never returns. Both arguments are open files handed down."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _die_with(lifeline)
    _keep_memory()
    link = Link(socket.socket(fileno=connection))
    worker = Worker(link)
    gc.freeze()  # what was imported stays: the collector need not look at it again
    try:
        link.send(READY)
        while True:
            task, _ = link.receive()
            answer, columns = worker.answer(task)
            del task
            link.send(answer, columns)
            del answer, columns
    except (EOFError, OSError):
        pass
    finally:
        _flush()
        os._exit(0)


def _die_with(lifeline: int) -> None:
    """Nothing is ever written to the lifeline: a signal says that its other end has closed. It needs no GIL."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        os._exit(0)


def _keep_memory() -> None:
    """Freed arrays stay mapped for the next ones (glibc only): fresh pages cost more than filling warm ones."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST_ON_HEAP)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue


class Worker:
    """The functions this process knows, by digest."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._functions: dict[bytes, BlockFunction] = {}
        self._pool = BufferPool()

    def answer(self, task: Task) -> tuple[Answer, list[Stack]]:
        """Run a task. Whatever goes wrong is part of the answer."""
        try:
            function = self._function(task)
        except BaseException as error:  # noqa: BLE001  # the trainer decides what an import error or an exit means
            return Answer(raised=pack_error(error), is_unloadable=True), []
        try:
            return self._run(function, task)
        except BaseException as error:  # noqa: BLE001  # likewise
            return Answer(raised=pack_error(error)), []

    def _function(self, task: Task) -> BlockFunction:
        for digest in task.forget:
            self._functions.pop(digest, None)
        if task.folder is not None:
            os.chdir(task.folder)
        if task.recipe is not None:
            self._functions[task.digest] = block_function(node_of(task.recipe))
        return self._functions[task.digest]

    def _stage(self, leaf: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """Where rows of a result are to lie, so that they need no copy when they are sent."""
        memory = self._link.reserve(math.prod(shape) * dtype.itemsize)
        return None if memory is None else memory.view(dtype).reshape(shape)

    def _run(self, function: BlockFunction, task: Task) -> tuple[Answer, list[Stack]]:
        given = with_failure(unpack_block(task.block, ()), _LATER if task.has_failure else None)
        warned: list[str] = []
        services = Services(
            task.seed, self._pool, engine_clock(), 0, warned.append, max_image_pixels=task.max_image_pixels
        )
        scope = Scope(services, task.epoch, task.passes, staging=self._stage).in_task()
        cpu, (read_s, read_bytes) = services.clock.cpu(), services.clock.reads()
        with reading_for(task.remote, None, None):
            block: Block = function(given, scope)
        cpu_s = services.clock.cpu() - cpu
        stored_s, stored_bytes = services.clock.reads()
        storage = stored_s - read_s, stored_bytes - read_bytes
        if holds_datasets(block):
            raise UnsupportedValueError(
                "the function returned a dataset, which cannot leave its process",
                remedy='map(..., executor="threads") runs the function in the trainer\'s',
            )
        packed, columns = pack_block(block, stacked=True, known=given.origins)
        keeps = block.failure is _LATER
        failure = None if keeps or block.failure is None else pack_error(block.failure.error)
        return Answer(packed, failure, keeps, pack_log(scope.task_log), cpu_s, tuple(warned), storage=storage), columns
