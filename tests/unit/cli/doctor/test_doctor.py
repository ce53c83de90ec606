"""`penstock doctor` as a person runs it, on scripts without a framework: each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.app import run
from penstock.telemetry.saved import VERSION, load_trace

SCRIPT = """
import sys, time
import penstock as ps

def slow(row):
    sys._getframe()
    time.sleep(0.004)
    return row

print("arguments", sys.argv[1:])
for batch in ps.Dataset.range(160).map(slow, compile=False, num_parallel_calls=1).batch(8):
    time.sleep(0.001)
print("total", batch.sum())
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # places are told relative to it
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_gets_its_verdict_and_keeps_its_output(
    script: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "run.json"
    assert run(["doctor", "--json", "--save-trace", str(saved), str(script), "--lr", "1", "--html"]) == 0
    out, err = capfd.readouterr()
    first, second, last = out.splitlines()
    assert (first, second) == ("arguments ['--lr', '1', '--html']", "total 1244")
    assert json.loads(last)["verdict"]["kind"] == "input-bound"
    assert "Input-bound" in err
    assert "train.py:11" in err
    trace = load_trace(saved)
    assert (trace.source, trace.consumer.steps, trace.consumer.rows, trace.consumer.method) == (
        "penstock", 20, 160, "synchronous",
    )  # fmt: skip
    assert any("slow" in step.label or step.verb == "map" for step in trace.steps)
    assert run(["doctor", str(saved)]) == 0
    assert "Input-bound" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("raise ValueError('mine')", 1, "ended by ValueError"),
        ("import os; os._exit(3)", 3, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", 128 + 15, "terminated"),
    ],
)
def test_a_script_that_ends_otherwise_has_its_status_and_a_report(
    script: Path, end: str, status: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    script.write_text(SCRIPT.replace("160", "64") + end + "\n")
    assert run(["doctor", str(script)]) == status
    err = capfd.readouterr().err
    assert "map at train.py:11" in err
    assert said in err


def test_each_process_that_trains_gets_a_report(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = SCRIPT.replace("160", "64").replace("\n", "\n    ")
    script.write_text(
        f"import os\ndef train():{body}\nif os.fork() == 0:\n    train()\n    os._exit(0)\nos.wait()\ntrain()\n"
    )
    assert run(["doctor", str(script)]) == 0
    out, err = capfd.readouterr()
    assert out.count("total") == 2
    assert err.count("Input-bound") == 2


def test_a_script_that_crashes_before_its_loader_says_so_in_one_line(
    script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script.write_text("import no_such_module\n")
    assert run(["doctor", str(script)]) == 1
    err = capfd.readouterr().err
    assert "ModuleNotFoundError: No module named 'no_such_module'" in err
    assert err.count("penstock:") == 1
    assert "ended with status 1 before it asked a loader" in err


def test_a_script_without_a_loader_is_told_so(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script.write_text("print('done')\n")
    assert run(["doctor", str(script)]) == 0
    out, err = capfd.readouterr()
    assert out == "done\n"
    assert "no loader was seen" in err
    assert err.count("\n") == 1


def test_a_sitecustomize_that_was_there_still_runs(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text("print('theirs')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "theirs"), os.environ.get("PYTHONPATH", "")]))
    script.write_text("import sitecustomize\nprint(sitecustomize.__file__)\n")
    assert run(["doctor", str(script)]) == 0
    assert capfd.readouterr().out.splitlines() == ["theirs", str(tmp_path / "theirs" / "sitecustomize.py")]


def test_nothing_stays_in_the_temporary_folder(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    script.write_text("import penstock as ps\nfor _ in ps.Dataset.range(3): pass\n")
    assert run(["doctor", str(script)]) == 0
    assert list((tmp_path / "temporary").iterdir()) == []
    capfd.readouterr()


@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes are POSIX's")
def test_an_interruption_from_outside_reaches_the_script(script: Path) -> None:
    script.write_text(
        "import time\nimport penstock as ps\n"
        "for batch in ps.Dataset.range(10**6).batch(1):\n    time.sleep(0.01)\n    print('step', flush=True)\n"
    )
    command = [sys.executable, "-m", "penstock", "doctor", str(script)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "KeyboardInterrupt" in err
    assert "the run was cut short: interrupted" in err


# ---- bad input: one line each, before anything runs


def test_bad_input_is_one_line(script: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.py"
    cut = tmp_path / "cut.json"
    cut.write_text('{"format": "penstock-trace", "vers')
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps({"format": "penstock-trace", "version": VERSION + 1, "trace": {}}))
    other = tmp_path / "other.json"
    other.write_text("[1, 2]")
    for arguments, expected in [
        ([missing], "no such script"),
        ([tmp_path], "got a folder"),
        ([cut], "not a whole JSON document"),
        ([newer], f"got {VERSION + 1}, expected {VERSION}"),
        ([other], "not a trace of Penstock"),
        (["--html", tmp_path / "no" / "report.html", script], "cannot be written"),
        (["--html", tmp_path, script], "got a folder"),
        (["--save-trace", "/proc/trace.json", script], "cannot be written"),
        (["--tensorboard", "/proc/events", script], "cannot be written"),
    ]:
        assert run(["doctor", *map(str, arguments)]) == 1, expected
        out, err = capfd.readouterr()
        assert out == ""  # the script was not run
        assert err.count("\n") == 1
        assert err.startswith("penstock: ")
        assert expected in err
