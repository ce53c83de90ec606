"""The probes of one process of a script under `penstock doctor`, and the files in which they leave what they noted.

Traces are written when the process ends: at the end of the script, after an exception, `sys.exit`, `os._exit`, SIGINT
or SIGTERM. Every ten seconds or more they are written too, for a process that is killed or crashes, where nothing can
be done any more; such a trace says that it was cut. A forked child starts with nothing noted. Results of the script are
not changed: probes call what they replace, with the same arguments, and hand on what it gives.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from penstock.probes import (
    compiling,
    grain_iterators,
    keras_fit,
    penstock_iterator,
    tf_data,
    torch_loader,
    watched,
)
from penstock.probes.book import Book, Entry
from penstock.probes.patching import Patch, Patcher
from penstock.probes.stacks import Samples, StackSampler
from penstock.telemetry.saved import save_trace

_STATUS_EVERY_S = 0.5
_SAVE_EVERY_S = 10.0
_MOST_SHARE = 0.005  # of a core, for saving; a long run is saved more rarely
_RECENT = 50


def patches(book: Book, directory: str | None) -> dict[str, Patch]:
    """All probes: what to do to which module when it is imported."""
    return {
        **torch_loader.patches(book, directory),
        **tf_data.patches(book),
        **keras_fit.patches(book),
        **grain_iterators.patches(book),
        **compiling.patches(book),
        **penstock_iterator.patches(book),
        **watched.patches(book),
    }


def start(directory: str) -> Patcher:
    """Instrument this process; what it notes is left in `directory`. Once per process."""
    child = Child(Path(directory))
    patcher = Patcher(patches(child.book, directory), child.failed)
    patcher.install()
    child.hook()
    return patcher


class Child:
    """One process: its book, its sampler of stacks, and when they are written."""

    def __init__(self, directory: Path) -> None:
        self.book = Book()
        self.book.began = self._begin
        self.book.began_worker = self._leave_sigterm
        self._directory = directory
        self._sampler: StackSampler | None = None
        self._lock = threading.RLock()
        self._status_at = self._saved_at = time.monotonic()
        self._save_every_s = _SAVE_EVERY_S
        self._has_ended = False
        self._cut = ""

    def failed(self, name: str, error: Exception) -> None:
        """A patch could not be applied."""
        self.book.notes.append(f"{name} is not instrumented: {' '.join(str(error).split())}")

    def hook(self) -> None:
        """Be there when the process ends, however it does."""
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self._forked)
        leave = os._exit

        def end_and_leave(status: int) -> None:
            self.end()
            leave(status)

        os._exit = end_and_leave  # type: ignore[assignment] # its return type is NoReturn, and so it is
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminated)

    def _terminated(self, number: int, frame: FrameType | None) -> None:
        self._cut = "terminated (SIGTERM)"
        self.end()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _leave_sigterm(self) -> None:
        """A worker that is deep in C must die when its pool says so, not when it is back in Python."""
        if signal.getsignal(signal.SIGTERM) == self._terminated:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _forked(self) -> None:
        self._leave_sigterm()
        self.book.clear()
        self._sampler = None
        self._lock = threading.RLock()
        self._has_ended = False

    def _begin(self) -> None:
        if self._sampler is None:
            self._sampler = sampler = StackSampler(self.book.samples_of, self._samples, self._looked)
            self.book.looking_s = lambda: sampler.cpu_s
            self._status_at = self._saved_at = time.monotonic()
            sampler.start()

    def _samples(self) -> list[Samples]:
        return [recording.samples for recording in self.book.recordings if recording is self.book.current]

    def _looked(self) -> None:
        now = time.monotonic()
        if now - self._status_at >= _STATUS_EVERY_S:
            self._status_at = now
            self._write_status()
        if now - self._saved_at >= self._save_every_s:
            self._saved_at = now
            began_s = time.thread_time()
            with self._lock:
                if not self._has_ended:
                    self._write("the process ended without a word after this")
            self._save_every_s = max(_SAVE_EVERY_S, (time.thread_time() - began_s) / _MOST_SHARE)

    def _write_status(self) -> None:
        recording = self.book.current
        if recording is None:
            return
        asked, got = recording.tape.asked[-_RECENT:], recording.tape.got[-_RECENT:]
        count = min(len(asked), len(got))
        if count < 2:
            return
        span_s = asked[count - 1] - asked[0]
        waited_s = sum(got[i] - asked[i] for i in range(count - 1))
        self._replace(
            f"status-{os.getpid()}.json",
            {
                "pid": os.getpid(), "loader": recording.loader, "steps": len(recording.tape), "rows": recording.rows,
                "rows_each": recording.rows / len(recording.tape), "step_s": span_s / (count - 1),
                "waiting": waited_s / span_s if span_s > 0 else 0.0, "at": time.time(),
            },
        )  # fmt: skip

    def end(self) -> None:
        """Write all that was noted; the second time does nothing."""
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
            if self._sampler is not None:
                self._sampler.stop()
            self.book.close()
            self._write(self._cut or _why_it_ends())

    def _write(self, cut: str) -> None:
        try:
            entries = self.book.entries()
            for number, entry in enumerate(entries):
                self._write_entry(number, entry, cut)
            if not entries and self.book.notes:
                self._replace(f"fault-{os.getpid()}.txt", "; ".join(self.book.notes))
        except Exception as error:  # noqa: BLE001 - the script ends as it would without us
            self._replace(f"fault-{os.getpid()}.txt", f"{type(error).__name__}: {error}")

    def _write_entry(self, number: int, entry: Entry, cut: str) -> None:
        stem = f"trace-{os.getpid()}-{number}"
        if entry.fetches is not None:
            entry.fetches.save(self._directory / f"{stem}.fetches.json")
        self._replace(f"{stem}.dataset.json", {"dataset": entry.dataset, "dataset_ids": entry.dataset_ids})
        save_trace(replace(entry.trace, cut=cut), self._directory / f"{stem}.json")

    def _replace(self, name: str, content: dict[str, Any] | str) -> None:
        part = self._directory / f".{name}.part"
        try:
            part.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
            part.replace(self._directory / name)
        except OSError:  # the doctor has gone, and its folder with it
            pass


def _why_it_ends() -> str:
    """In words, where an exception that nobody caught ends the script."""
    kind: type[BaseException] | None = getattr(sys, "last_type", None)
    if kind is None:
        return ""
    return "interrupted" if kind is KeyboardInterrupt else f"ended by {kind.__name__}"
