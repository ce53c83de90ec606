"""`penstock`: the commands, and the one place where what goes wrong becomes one line and an exit status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from penstock.errors import InvalidArgumentError, PenstockError

INTERRUPTED = 130  # 128 + SIGINT, as shells expect

app = typer.Typer(
    name="penstock",
    help="Keeps accelerators fed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def root() -> None:
    """Keeps accelerators fed."""


@app.command()
def demo(  # noqa: PLR0917 - typer makes each an option, none is given by position
    data: Annotated[
        Path | None,
        typer.Option(help="Your own photographs, one folder per class; JPEG or PNG, of any size.", metavar="DIR"),
    ] = None,
    backend: Annotated[
        str | None, typer.Option(help="tensorflow, jax or torch; what is installed, in that order, if not given.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training photographs.")] = 2,
    batch_size: Annotated[int, typer.Option(min=1, help="Photographs per step.")] = 64,
    image_size: Annotated[int, typer.Option(min=8, help="Side of the square the model sees, in pixels.")] = 128,
    step_ms: Annotated[
        float | None,
        typer.Option(min=0.1, help="Replace the model by an emulated accelerator that takes this long per step."),
    ] = None,
    samples: Annotated[int, typer.Option(min=200, help="Files to make where --data is not given.")] = 3000,
    work: Annotated[
        Path | None, typer.Option(help="Where to make them; your cache directory if not given.", metavar="DIR")
    ] = None,
) -> None:
    """Train a small net on photographs, fed by a Python generator, by tf.data and by Penstock, and compare."""
    from penstock.cli.demo.command import Request, run_demo

    request = Request(
        data=data,
        backend=backend,
        epochs=epochs,
        batch_size=batch_size,
        image_size=image_size,
        step_s=None if step_ms is None else step_ms / 1000,
        samples=samples,
        work=work,
    )
    with one_line_errors():
        run_demo(request, Console())


@app.command()
def inspect(
    path: Annotated[str, typer.Argument(help="A file, or a directory that cache, snapshot or save wrote.")],
    samples: Annotated[int, typer.Option(min=0, help="Elements to show.")] = 3,
    html: Annotated[
        Path | None, typer.Option(help="Write a page too, images as small pictures.", metavar="FILE")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read every byte and compare checksums.")] = False,
) -> None:
    """Say what lies at a path: format, count, features and their sizes, the first elements."""
    from penstock.cli.inspect.command import Request, run_inspect

    with one_line_errors():
        run_inspect(Request(_local("inspect", path), samples, html, verify), Console())


@app.command()
def convert(  # noqa: PLR0917 - typer makes each an option, none but the first two is given by position
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC", help="A folder of classes, or Parquet, tar or TFRecord files: one, or a folder of them."
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="DST", help="The folder for the shards.")],
    kind: Annotated[
        str | None, typer.Option("--format", help="tfrecord or tar; as DST ends if not given, else tfrecord.")
    ] = None,
    shards: Annotated[int | None, typer.Option(min=1, help="How many; one for each 256 MiB if not given.")] = None,
    shuffle: Annotated[bool, typer.Option(help="Mix all elements, or keep them in order.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Of the shuffle.")] = 0,
    resize: Annotated[
        int | None,
        typer.Option(min=1, help="Images become JPEGs whose shorter side has at most so many pixels.", metavar="N"),
    ] = None,
    compression: Annotated[str, typer.Option(help="gzip, or for TFRecord zlib; nothing is packed if not given.")] = "",
    columns: Annotated[
        str | None, typer.Option(help="Of Parquet: those that are wanted; all if not given.", metavar="A,B,...")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Make anew what an earlier run wrote there.")] = False,
) -> None:
    """Pack images, Parquet, tar shards or records into TFRecord files or tar shards; run it again to go on."""
    from penstock.cli.convert.command import Request, run_convert

    with one_line_errors():
        request = Request(
            source=_local("convert", source),
            target=_local("convert", target),
            kind=kind,
            shards=shards,
            shuffle=shuffle,
            seed=seed,
            side=resize,
            compression=compression,
            columns=None if columns is None else tuple(columns.split(",")),
            overwrite=overwrite,
        )
        run_convert(request, Console())


@app.command()
def bench(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py:NAME|DIR", help="A dataset of a script, or a function there that returns one; or images."
        ),
    ],
    seconds: Annotated[float, typer.Option(min=0.1, help="How long to take from it.")] = 10.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Of a folder of images.")] = 64,
    image_size: Annotated[int, typer.Option(min=8, help="Of a folder of images: side of the square, in pixels.")] = 224,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure a dataset: throughput, first batch, CPU, memory, and how close it is to what binds it."""
    from penstock.cli.bench.command import Request, run_bench

    with one_line_errors():
        run_bench(Request(target, seconds, batch_size, image_size, as_json), Console())


def _local(command: str, path: str) -> Path:
    """The path as one of this machine. Raises: InvalidArgumentError: it is a URL."""
    from penstock.storage.url import is_remote, shown

    if is_remote(path):
        raise InvalidArgumentError(
            f"{command}: not a path", got=shown(path), expected="a file or folder of this machine",
            remedy="copy it here first; datasets read URLs themselves: docs/howto/remote-data.md",
        )  # fmt: skip
    return Path(path)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
)
def doctor(  # noqa: PLR0917 - typer makes each an option, none but the first is given by position
    context: typer.Context,
    target: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A training script, or a trace: see --save-trace.")],
    html: Annotated[Path | None, typer.Option(help="Write the report as one page, too.", metavar="FILE")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the diagnosis as the last line of the standard output.")
    ] = False,
    perfetto: Annotated[
        Path | None, typer.Option("--trace", help="Write the run for Perfetto or chrome://tracing.", metavar="FILE")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save-trace", help="Keep what was noted; `penstock doctor FILE` reads it.", metavar="FILE.json"),
    ] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Write event files for TensorBoard.", metavar="DIR")] = None,
    live: Annotated[bool, typer.Option(help="Show a panel below the script's output, on a terminal.")] = True,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="Interrupt the script (Ctrl-C) after so long.", metavar="N")
    ] = None,
) -> None:
    """Run a training script as it is, and say what holds it up: SCRIPT, and behind it its own arguments.

    It sees Penstock, tf.data, PyTorch's DataLoader, Grain and Keras' fit, in each process that the script starts.
    Its output, its results and its exit status stay its own; the report goes to the standard error.
    """
    from penstock.cli.doctor.command import Request, run_doctor

    request = Request(
        target=target,
        arguments=tuple(context.args),
        html=html,
        as_json=as_json,
        perfetto=perfetto,
        save=save,
        tensorboard=tensorboard,
        live=live,
        seconds=seconds,
    )
    with one_line_errors():
        status = run_doctor(request, Console(stderr=True, highlight=False))
    raise typer.Exit(status)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
)
def launch(
    context: typer.Context,
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A training script.")],
    workers: Annotated[int, typer.Option(min=1, help="How many processes.")] = 2,
    backend: Annotated[
        str, typer.Option(help="Whose variables they find: tensorflow, torch, jax; auto: those of all three.")
    ] = "auto",
    grace: Annotated[float, typer.Option(min=0, help="Seconds between SIGTERM and SIGKILL.", metavar="N")] = 10.0,
) -> None:
    """Run a training script as several processes of this machine: SCRIPT, and behind it its own arguments.

    Each finds TF_CONFIG, torchrun's or JAX's variables, and its lines come with its number in front. When one fails,
    the others are ended, and its exit status becomes ours. On several hosts use the framework's own launcher.
    """
    from penstock.cli.launch.command import Request, run_launch

    with one_line_errors():
        request = Request(script, tuple(context.args), workers, backend, grace)
        status = run_launch(request, Console(stderr=True, highlight=False, soft_wrap=True))
    raise typer.Exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; its exit status. Errors that a user can mend are one line on stderr."""
    try:
        app(args=list(arguments), prog_name="penstock")
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    return 0


@contextmanager
def one_line_errors() -> Iterator[None]:
    """A PenstockError or Ctrl-C within becomes one line and an exit status; a fault of ours stays a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        _say("penstock: interrupted; nothing is left running")
        raise typer.Exit(INTERRUPTED) from None
    except PenstockError as error:
        _say(f"[bold red]penstock:[/] {escape(' '.join(str(error).split()))}")
        raise typer.Exit(1) from None


def _say(text: str) -> None:
    Console(stderr=True, soft_wrap=True).print(text, highlight=False)
