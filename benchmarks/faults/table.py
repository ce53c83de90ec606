"""The one table of what is planted where. In each script, the lines to blame end with `# the fault`.

`kinds`: the words for it that count, the planted one first. More than one stand where two words name one thing:

- of a function that decodes, `slow_function` is `slow_decode` seen from outside, where its ops cannot be timed;
- PyTorch has one knob for two things: without workers nothing is made ahead, nor two elements at once, nor without the
  GIL of the trainer; whoever names any of the three says `num_workers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SCRIPTS = Path(__file__).parent / "scripts"
MARK = "# the fault"
_NO_WORKERS = ("no_prefetch", "no_parallelism")

Loader = Literal["penstock", "tf_data", "torch", "keras", "jax"]


@dataclass(frozen=True, slots=True)
class Planted:
    """A script, whose loader it uses, and the kinds of finding that name its fault; healthy: none."""

    script: str
    loader: Loader
    kinds: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return SCRIPTS / f"{self.script}.py"

    @property
    def lines(self) -> frozenset[int]:
        """Numbers of the lines to blame; none where it is the model, or nothing."""
        text = self.path.read_text().splitlines()
        return frozenset(number for number, line in enumerate(text, 1) if line.endswith(MARK))


def _of_each(kind: str, *, tf_data: tuple[str, ...] = (), torch: tuple[str, ...] = ()) -> tuple[Planted, ...]:
    return (
        Planted(f"{kind}_penstock", "penstock", (kind,)),
        Planted(f"{kind}_tf_data", "tf_data", tf_data or (kind,)),
        Planted(f"{kind}_torch", "torch", torch or (kind,)),
    )


FAULTS = (
    *_of_each("slow_decode", tf_data=("slow_decode", "slow_function"), torch=("slow_decode", "slow_function")),
    *_of_each("slow_storage"),
    *_of_each("gil_bound", torch=("gil_bound", "no_parallelism")),
    *_of_each("no_parallelism"),
    *_of_each("no_prefetch", torch=_NO_WORKERS),
    *_of_each("small_shuffle_buffer"),
    *_of_each("heavy_tail"),
    *_of_each("slow_model"),
    *_of_each("cache_after_random"),
    *_of_each("straggler"),
    *_of_each("retrace"),
)
HEALTHY = (
    Planted("healthy_penstock", "penstock"),
    Planted("healthy_tf_data", "tf_data"),
    Planted("healthy_torch", "torch"),
    Planted("healthy_keras_fit", "keras"),
    Planted("healthy_jax", "jax"),
)
