"""`penstock launch` as a person runs it, on scripts without a framework."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.cli.app import run

HEAD = """
import os, signal, subprocess, sys, time
rank = int(os.environ["RANK"])
def note(pid):
    open(f"pid-{pid}", "w").close()
note(os.getpid())
"""
WAIT = "time.sleep(60)\n"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "train.py"


def noted() -> list[int]:
    return [int(path.name[4:]) for path in Path.cwd().glob("pid-*")]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(is_so: object, limit_s: float = 20.0) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if is_so():  # type: ignore[operator]
            return True
        time.sleep(0.01)
    return False


def test_workers_have_variables_arguments_and_prefixed_lines(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script.write_text(
        HEAD + "print('hello', os.environ['WORLD_SIZE'], sys.argv[1:])\nprint('aside', file=sys.stderr)\n"
        "print(sys.stdin.read(), end='no newline')"
    )
    assert run(["launch", "--workers", "2", str(script), "--lr", "1", "--workers"]) == 0
    out, err = capfd.readouterr()
    hello = "hello 2 ['--lr', '1', '--workers']"
    assert sorted(out.splitlines()) == [f"[{rank}] {line}" for rank in (0, 1) for line in (hello, "no newline")]
    assert sorted(err.splitlines())[:2] == ["[0] aside", "[1] aside"]
    assert "2 workers, variables for TensorFlow, PyTorch and JAX" in err


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("sys.exit(3)", 3, "worker 1 ended with status 3"),
        ("raise ValueError('mine')", 1, "ValueError: mine"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "worker 1 was ended by SIGKILL"),
    ],
)
def test_one_that_fails_ends_the_others_and_gives_its_status(
    script: Path, end: str, status: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    script.write_text(HEAD + f"if rank == 1:\n    {end}\n" + WAIT)
    assert run(["launch", "--workers", "3", str(script)]) == status
    err = capfd.readouterr().err
    assert said in err
    assert "the other workers are ended" in err
    assert not any(map(is_alive, noted()))


def test_one_that_does_not_end_is_killed_after_the_grace(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script.write_text(
        HEAD + "if rank == 1:\n    while not os.path.exists('deaf'): time.sleep(0.01)\n    sys.exit(2)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('deaf', 'w').close()\n" + WAIT
    )
    assert run(["launch", "--grace", "0.1", str(script)]) == 2
    assert not any(map(is_alive, noted()))
    assert "worker 1 ended with status 2" in capfd.readouterr().err


def test_what_a_worker_started_ends_with_it(script: Path) -> None:
    script.write_text(HEAD + "note(subprocess.Popen(['sleep', '60']).pid)\n")
    assert run(["launch", "--workers", "1", str(script)]) == 0
    assert len(noted()) == 2
    assert not any(map(is_alive, noted()))


def test_a_wrong_request_is_one_line(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["launch", str(script)]) == 1
    assert "launch: no such script" in capfd.readouterr().err
    script.write_text("")
    assert run(["launch", "--backend", "mxnet", str(script)]) == 1
    assert "tensorflow" in capfd.readouterr().err


@contextmanager
def launched(script: Path, before: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A launcher in a process of its own, with two workers that have started, and a child of each."""
    script.write_text(
        HEAD + before + "note(subprocess.Popen(['sleep', '60']).pid)\nopen('ready-%d' % rank, 'w')\n" + WAIT
    )
    command = [sys.executable, "-c", "import sys; from penstock.cli.app import run; sys.exit(run(sys.argv[1:]))"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen([*command, "launch", str(script)], env=environment, stderr=subprocess.PIPE)
    try:
        assert until(lambda: len(list(Path.cwd().glob("ready-*"))) == 2)
        assert len(noted()) == 4
        yield process
    finally:
        process.kill()
        process.communicate()


def test_an_interruption_ends_all(script: Path) -> None:
    with launched(script) as process:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 128 + signal.SIGINT
        assert "asked to end by SIGINT" in err.decode()
        assert not any(map(is_alive, noted()))


def test_a_second_signal_does_not_wait_for_the_grace(script: Path) -> None:
    with launched(script, "signal.signal(signal.SIGTERM, lambda *_: open(f'asked-{rank}', 'w').close())\n") as process:
        process.send_signal(signal.SIGTERM)
        assert until(lambda: len(list(Path.cwd().glob("asked-*"))) == 2)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=8)  # the grace is 10 s
        assert process.returncode == 128 + signal.SIGTERM
        assert not any(map(is_alive, noted()))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere SIGIO ends them, where they do not handle it")
def test_nothing_outlives_a_launcher_that_is_killed(script: Path) -> None:
    with launched(script) as process:
        process.kill()
        process.wait()
        assert until(lambda: not any(map(is_alive, noted())))


def test_workers_end_when_nobody_reads_their_output(script: Path) -> None:
    script.write_text(HEAD + "while True:\n    print('x' * 1000)\n")
    command = [sys.executable, "-c", "import sys; from penstock.cli.app import run; sys.exit(run(sys.argv[1:]))"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [*command, "launch", str(script)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(20) == 141
    assert not any(map(is_alive, noted()))
