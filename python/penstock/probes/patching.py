"""Patches that are applied to a module right after the script imports it; what it never imports is never touched.

A finder stands first in `sys.meta_path`, asks the others for the module, and adds its patch to what they load. The
loader stays the one they chose. A patch that fails is noted and leaves the module as it was loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Patch = Callable[[Any], object]


class Patcher(MetaPathFinder):
    """Applies `patches`, by the full name of a module; `failed(name, error)` is told of one that could not be."""

    def __init__(self, patches: Mapping[str, Patch], failed: Callable[[str, Exception], None]) -> None:
        self._patches = dict(patches)
        self._failed = failed

    def install(self) -> None:
        """From now on; what is imported already is patched now."""
        sys.meta_path.insert(0, self)
        for name in [name for name in self._patches if name in sys.modules]:
            self._apply(name, sys.modules[name])

    def uninstall(self) -> None:
        """From now on no module is patched any more; what was is left as it is."""
        self._patches.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._patches:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                self._add_to(spec)
                return spec
        return None

    def _add_to(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        if loader is None or not hasattr(loader, "exec_module"):
            return
        execute = loader.exec_module

        def execute_and_patch(module: ModuleType) -> None:
            execute(module)
            self._apply(spec.name, module)

        try:
            loader.exec_module = execute_and_patch
        except AttributeError:  # a loader with slots, or a class: of no module that has a probe
            self._failed(spec.name, TypeError(f"its loader {loader!r} takes no attribute"))

    def _apply(self, name: str, module: ModuleType) -> None:
        patch = self._patches.pop(name, None)
        if patch is None:
            return
        try:
            patch(module)
        except Exception as error:  # noqa: BLE001 - a script must run as without us, whatever its framework became
            self._failed(name, error)
