"""Concludes and shows; works on traces alone, wherever they come from.

`penstock.diagnose` is this folder and a function, whichever was asked for first: the folder can be called.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from penstock.diagnose.conclude import Traced, diagnose
from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.finding import Fact, Finding
from penstock.telemetry.trace import Trace

__all__ = ["Diagnosis", "Fact", "Finding", "diagnose"]


class _Callable(ModuleType):
    """This module, called: importing a folder puts it in the place of a function of its name."""

    def __call__(self, run: Trace | Traced | str | os.PathLike[str]) -> Diagnosis:
        return diagnose(run)


sys.modules[__name__].__class__ = _Callable
