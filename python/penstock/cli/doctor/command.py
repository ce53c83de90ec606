"""`penstock doctor`: checks what was asked, runs the script or reads the trace, and shows what it means."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from penstock.cli.doctor.gather import Gathered, faults, gather
from penstock.cli.doctor.host import HostWatch
from penstock.cli.doctor.launch import run_script
from penstock.cli.doctor.panel import Live, Panel, is_shown
from penstock.errors import InvalidArgumentError, ReadError, WriteError
from penstock.telemetry.saved import load_trace, save_trace
from penstock.telemetry.trace import Trace
from penstock.units import format_seconds


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for; the options' meaning stands in their help."""

    target: Path
    arguments: tuple[str, ...] = ()
    html: Path | None = None
    as_json: bool = False
    perfetto: Path | None = None
    save: Path | None = None
    tensorboard: Path | None = None
    live: bool = True
    seconds: float | None = None


def run_doctor(request: Request, console: Console) -> int:
    """Diagnose a script or a saved trace; the exit status, which is the script's own.

    console: for the report, on stderr; JSON goes to stdout, after whatever the script wrote there.
    Raises: ReadError: no such script, or no trace. WriteError: a file that was asked for cannot be written; before the
    script runs. InvalidArgumentError: options that do not go together.
    """
    for path in (request.html, request.perfetto, request.save):
        if path is not None:
            check_writable(path)
    if request.tensorboard is not None:
        check_directory(request.tensorboard)
    if not request.target.is_file():
        raise ReadError(
            "doctor: no such script", got="a folder" if request.target.is_dir() else None,
            expected="a Python script, or a trace that --save-trace wrote", where=str(request.target),
        )  # fmt: skip
    if request.target.suffix == ".json":
        return _diagnose_trace(request, console)
    return _diagnose_script(request, console)


def _diagnose_trace(request: Request, console: Console) -> int:
    if request.arguments:
        raise InvalidArgumentError("doctor: a trace takes no arguments", got=" ".join(request.arguments))
    trace = load_trace(request.target)
    _report([Gathered(0, (trace,))], request, console)
    return 0


def _diagnose_script(request: Request, console: Console) -> int:
    directory = Path(tempfile.mkdtemp(prefix="penstock-doctor-"))  # 0700: a trace names files of the user's
    try:
        with ExitStack() as open_:
            host = open_.enter_context(closing(HostWatch()))
            live = None
            if request.live and is_shown(sys.stderr):
                live = Live(open_.enter_context(Panel(sys.stderr)), directory)

            def tick() -> None:
                reading = host.look()
                if reading is not None and live is not None:
                    live.draw(reading)

            arguments = (str(request.target), *request.arguments)
            status = run_script(arguments, directory, tick, request.seconds)
        sys.stdout.flush()
        gathered = gather(directory, host.samples, host.why_no_accelerators)
        for fault in faults(directory):
            console.print(Text(f"penstock: part of the run was not seen: {fault}"), highlight=False)
        if gathered:
            _report(gathered, request, console)
        else:
            console.print(Text(_nothing_seen(request, status)), highlight=False, soft_wrap=True)
        return status
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _nothing_seen(request: Request, status: int) -> str:
    if status:
        return (
            f"penstock: {request.target} ended with status {status} before it asked a loader for a batch; "
            "there is nothing to diagnose"
        )
    return (
        f"penstock: no loader was seen in {request.target}; expected a Penstock Dataset, tf.data, a PyTorch "
        "DataLoader, Grain, or Keras' fit; wrap another in penstock.watch(loader)"
    )


def _report(gathered: Sequence[Gathered], request: Request, console: Console) -> None:
    """Show what was gathered, and write what was asked for: of the process and loader that most time went by with."""
    from penstock.diagnose import diagnose
    from penstock.diagnose.report import write_events, write_html, write_perfetto

    diagnoses = [(one, diagnose(one.traces[0])) for one in gathered]
    for one, diagnosis in diagnoses:
        console.print()
        console.rule(_title(one, several=len(gathered) > 1), style="dim")
        console.print(diagnosis, soft_wrap=True)
        for other in one.traces[1:]:
            console.print(Text(_in_short(other), style="dim"), highlight=False)
        if one.traces[0].cut:
            console.print(Text(f"the run was cut short: {one.traces[0].cut}", style="dim"), highlight=False)
    trace, diagnosis = gathered[0].traces[0], diagnoses[0][1]
    if request.save is not None:
        save_trace(trace, request.save)
    if request.html is not None:
        write_html(trace, diagnosis, request.html)
    if request.perfetto is not None:
        write_perfetto(trace, request.perfetto)
    if request.tensorboard is not None:
        write_events(trace, request.tensorboard, diagnosis)
    for path in (request.save, request.html, request.perfetto, request.tensorboard):
        if path is not None:
            console.print(Text(f"written: {path}", style="dim"), highlight=False, soft_wrap=True)
    if request.as_json:
        documents = [json.loads(diagnosis.to_json()) for _, diagnosis in diagnoses]
        document = documents[0] if len(documents) == 1 else {"processes": documents}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def _title(gathered: Gathered, *, several: bool) -> str:
    loader = gathered.traces[0].loader
    return f"process {gathered.process}: {loader}" if several else loader


def _in_short(trace: Trace) -> str:
    consumer = trace.consumer
    return f"also seen: {trace.loader}: {consumer.steps} batches, waited {format_seconds(consumer.wait_s)}"


def check_writable(path: Path) -> None:
    """Raises: WriteError: a file cannot be written there."""
    if path.is_dir():
        raise _unwritable(path, "a folder")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".penstock-"):
            pass
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error
    if path.exists() and not os.access(path, os.W_OK):
        raise _unwritable(path, "a file that may not be written")


def check_directory(path: Path) -> None:
    """Make it if it is not there. Raises: WriteError: no folder can be made or written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error
    check_writable(path / "events")


def _unwritable(path: Path, got: str) -> WriteError:
    return WriteError(
        "doctor: cannot be written", got=got, expected="a place for the report", where=str(path),
        remedy="name another; the script was not run",
    )  # fmt: skip
