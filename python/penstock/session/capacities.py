"""The capacities of this host, measured once a day and kept in the user's cache directory.

What is known costs a small file to read; what is not is measured only by who asks for it (`host_capacities`).
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.machine.capacities import calls_per_s, memcpy_all, memcpy_core, storage_speed
from penstock.machine.readings import Capacities
from penstock.storage.url import is_remote
from penstock.telemetry.saved import read_record

_VERSION = 1
_HEIGHT, _WIDTH = 375, 500


def cache_file() -> Path:
    """Where the numbers of this host are kept: PENSTOCK_CAPACITIES names another file."""
    said = os.environ.get("PENSTOCK_CAPACITIES")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(said) if said else base / "penstock" / f"capacities-{platform.node() or 'host'}.json"


def known_capacities(path: str | None = None, cpus: int | None = None, file: Path | None = None) -> Capacities:
    """What was measured here today, nothing where nothing was. path: whose storage is meant; cpus: of the budget.

    Cost: 50 us.
    """
    kept = _read(cache_file() if file is None else file, cpus)
    return replace(kept.get("", Capacities()), **_storage(kept.get(_device(path), Capacities())))


def host_capacities(path: str | None = None, cpus: int = 1, file: Path | None = None) -> Capacities:
    """The capacities of this host, measured now unless they were today. path: of the dataset; None: no storage.

    Cost: about 1.5 s the first time, 50 us again. A URL has no storage of this host, so none is told.
    """
    file = cache_file() if file is None else file
    kept = _read(file, cpus)
    before = dict(kept)
    if "" not in kept:
        kept[""] = Capacities(
            memcpy_core=memcpy_core(), memcpy_all=memcpy_all(cpus), jpeg_core=calls_per_s(_decode_jpeg())
        )
    device = _device(path)
    if path is not None and device and device not in kept:
        speed = storage_speed(path)
        if speed is not None:
            kept[device] = Capacities(
                storage=speed.bytes_per_s, storage_latency_s=speed.latency_s, storage_is_cold=speed.is_cold
            )
    if kept != before:
        _write(file, cpus, kept)
    return replace(kept[""], **_storage(kept.get(device, Capacities())))


def _storage(of: Capacities) -> dict[str, Any]:
    return {
        "storage": of.storage, "storage_latency_s": of.storage_latency_s, "storage_is_cold": of.storage_is_cold,
    }  # fmt: skip


def _device(path: str | None) -> str:
    """The device that `path` is on; "" for none of this host."""
    if path is None or is_remote(path):
        return ""
    try:
        return f"device {os.stat(path).st_dev}"
    except (OSError, ValueError):
        return ""


def _today() -> str:
    return time.strftime("%Y-%m-%d")


def _read(file: Path, cpus: int | None) -> dict[str, Capacities]:
    """What is kept, by device; nothing where it is of another day or host, or damaged."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        is_ours = document["version"] == _VERSION and document["date"] == _today()
        if not is_ours or (cpus is not None and document["cpus"] != cpus):
            return {}
        return {name: read_record(Capacities, value) for name, value in document["measured"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write(file: Path, cpus: int, kept: dict[str, Capacities]) -> None:
    """Keep it; where nothing can be written it is measured again next time."""
    document = {
        "version": _VERSION, "date": _today(), "cpus": cpus,
        "measured": {name: asdict(value) for name, value in kept.items()},
    }  # fmt: skip
    part = file.with_name(f"{file.name}.part-{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(document), encoding="utf-8")
        part.replace(file)
    except OSError:
        with suppress(OSError):
            part.unlink()


def _decode_jpeg() -> Callable[[], object]:
    """Decodes an image of 500 x 375 that has as much in it as a photograph: 56 KB."""
    from penstock.ops.codecs import encode_jpeg
    from penstock.ops.io import decode_jpeg

    rng = np.random.default_rng(0)
    rough = rng.integers(0, 256, (_HEIGHT // 5, _WIDTH // 5, 3)).repeat(5, axis=0).repeat(5, axis=1)
    data = encode_jpeg(rough.astype(np.uint8), quality=80)
    return lambda: decode_jpeg(data)
