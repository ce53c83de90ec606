from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import app as app_module
from penstock.cli.app import INTERRUPTED, one_line_errors, run
from penstock.errors import InvalidArgumentError


@pytest.mark.parametrize(
    "arguments",
    [[name, "--help"] for name in ("demo", "inspect", "convert", "bench", "doctor", "launch")] + [["--help"]],
)
def test_help_is_shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    assert "penstock" in capsys.readouterr().out


def test_the_package_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["penstock", "--help"])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_module("penstock", run_name="__main__")
    assert exit_.value.code == 0
    assert "Usage: penstock " in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["demo", "--batch-size", "0"], ["demo", "--bogus"], ["nothing"]])
def test_a_wrong_command_line_has_the_status_of_one(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["demo", "--backend", "tensor[flow]"]) == 1
    line = capsys.readouterr().err
    assert line == "penstock: --backend; got 'tensor[flow]', expected one of tensorflow, jax, torch\n"


def test_a_backend_that_is_not_installed_is_one_line_with_a_remedy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.cli.demo.backend.is_installed", lambda module: False)
    assert run(["demo", "--backend", "jax"]) == 1
    assert capsys.readouterr().err == "penstock: --backend jax: jax is not installed; pip install jax\n"
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    assert run(["demo"]) == 1
    assert "pip install tensorflow-cpu" in capsys.readouterr().err


def test_an_interruption_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(app_module.typer.Exit) as exit_, one_line_errors():
        raise KeyboardInterrupt
    assert exit_.value.exit_code == INTERRUPTED
    assert capsys.readouterr().err.count("\n") == 1


def test_an_error_of_several_lines_becomes_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(app_module.typer.Exit), one_line_errors():
        raise InvalidArgumentError("one\ntwo")
    assert capsys.readouterr().err == "penstock: one two\n"


def test_errors_of_a_command_name_no_line_of_code(capsys: pytest.CaptureFixture[str]) -> None:
    damaged = Path(__file__).parents[2] / "golden" / "hostile" / "tfrecords" / "bad_data"
    assert run(["inspect", str(damaged)]) == 1
    line = capsys.readouterr().err
    assert "TFRecordDataset at the command line: " in line
    assert ".py:" not in line


@pytest.mark.parametrize("arguments", [["inspect", "URL"], ["convert", "URL", "out"], ["convert", ".", "URL"]])
def test_a_url_is_refused_with_a_remedy(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    url = "http://me:secret@localhost/a.parquet?key=secret"
    assert run([url if argument == "URL" else argument for argument in arguments]) == 1
    line = capsys.readouterr().err
    assert line.startswith(f"penstock: {arguments[0]}: not a path; got http://localhost/a.parquet?...")
    assert "copy it here first" in line


def test_a_fault_of_ours_stays_a_traceback() -> None:
    with pytest.raises(ZeroDivisionError), one_line_errors():
        raise ZeroDivisionError


def test_the_command_line_imports_no_framework() -> None:
    code = (
        "import sys; from penstock.cli.app import run; run(['demo', '--help']); "
        "print({'tensorflow', 'keras', 'jax', 'torch', 'PIL', 'skimage', 'sklearn'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "set()"
