"""What the framework says it had in use on its first device at most: its own allocations, not those of others."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def peak_bytes(framework: str, modules: Mapping[str, Any] = sys.modules) -> int | None:
    """Bytes at most so far; None: it does not say, or trains on the CPU. Imports nothing, opens no device."""
    module = modules.get(framework)
    if module is None:
        return None
    try:
        if framework == "torch":
            return int(module.cuda.max_memory_allocated()) or None if module.cuda.is_initialized() else None
        if framework == "jax":
            stats = module.local_devices()[0].memory_stats()
            return int(stats["peak_bytes_in_use"]) if stats else None
        if framework == "tensorflow" and module.config.list_logical_devices("GPU"):
            return int(module.config.experimental.get_memory_info("GPU:0")["peak"])
    except (KeyError, RuntimeError, ValueError, AttributeError):  # a device that keeps no such count
        return None
    return None
