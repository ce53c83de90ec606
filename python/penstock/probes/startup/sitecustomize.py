"""Runs first in every Python under `penstock doctor`, and then whatever sitecustomize there was without it.

It imports nothing of Penstock's: a finder waits for the first module that a probe is for. So a process that trains
nothing pays microseconds. `PENSTOCK_DOCTOR` names the folder for what was noted; without it, nothing is done.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself takes longer to import than all of this
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

MODULES = frozenset(
    (
        "torch.utils.data.dataloader",
        "torch.utils.data._utils.worker",
        "tensorflow.python.data.ops.dataset_ops",
        "tensorflow.python.data.ops.iterator_ops",
        "keras.src.backend.jax.trainer",
        "keras.src.backend.torch.trainer",
        "keras.src.backend.tensorflow.trainer",
        "grain._src.python.dataset.dataset",
        "grain._src.python.data_loader",
        "jax._src.monitoring",
        "tensorflow.python.eager.polymorphic_function.tracing_compilation",
        "torch._dynamo.callback",
        "penstock.session.iterator",
        "penstock.probes.watch",
    )
)
"""What the probes patch; a test holds this equal to `penstock.probes.child.patches`."""
_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))


class _Waiting:
    """A finder that finds nothing, and calls the probes when the first of their modules is asked for."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in MODULES or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        try:
            from importlib.util import find_spec

            if find_spec("penstock") is None:
                sys.path.append(_PACKAGES)
            from penstock.probes.child import start

            return start(self._directory).find_spec(name, path, target)
        except Exception as error:  # noqa: BLE001 - the script must run as it would without us
            _say(self._directory, error)
            return None


def _say(directory: str, error: Exception) -> None:
    """The script's output is its own, so a fault of ours goes to a file."""
    try:
        with open(os.path.join(directory, f"fault-{os.getpid()}.txt"), "w", encoding="utf-8") as file:
            file.write(f"{type(error).__name__}: {error}\n")
    except OSError:
        pass


def _chain(path: list[str]) -> None:
    """The sitecustomize that this one stands before."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _start() -> None:
    sys.path[:] = [one for one in sys.path if os.path.abspath(one or os.curdir) != _HERE]
    directory = os.environ.get("PENSTOCK_DOCTOR")
    if directory and os.path.isdir(directory):
        sys.meta_path.insert(0, _Waiting(directory))
    _chain(sys.path)


if __name__ == "sitecustomize":
    _start()
