"""A table of every type that an element may hold, and its rows as Python values."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa

EPOCH = dt.datetime(2024, 2, 29, 23, 59)


def everything(rows: int = 50) -> pa.Table:
    numbers = range(rows)
    return pa.table(
        {
            "int": pa.array(numbers, pa.int32()),
            "float": pa.array([n / 4 for n in numbers], pa.float32()),
            "half": pa.array(np.arange(rows, dtype=np.float16)),
            "bool": pa.array([n % 3 == 0 for n in numbers]),
            "text": pa.array([f"é{n}" * (n % 3) for n in numbers]),
            "large": pa.array([f"{n}" for n in numbers], pa.large_string()),
            "bytes": pa.array([bytes([n % 256, 0]) for n in numbers]),
            "fixed": pa.array([b"%04d" % n for n in numbers], pa.binary(4)),
            "word": pa.array([f"w{n % 3}" for n in numbers]).dictionary_encode(),
            "time": pa.array([EPOCH + dt.timedelta(seconds=n) for n in numbers], pa.timestamp("us", "Europe/Berlin")),
            "day": pa.array([(EPOCH + dt.timedelta(days=n)).date() for n in numbers]),
            "clock": pa.array([dt.time(n % 24, n % 60) for n in numbers], pa.time64("us")),
            "span": pa.array([dt.timedelta(hours=n) for n in numbers], pa.duration("ms")),
            "list": pa.array([list(range(n % 4)) for n in numbers], pa.list_(pa.int16())),
            "words": pa.array([[f"{n}"] * (n % 3) for n in numbers]),
            "pair": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(2.0 * rows)), 2),
            "pairs": pa.array([[[n, m] for m in range(n % 3)] for n in numbers], pa.list_(pa.list_(pa.int64(), 2))),
            "lists": pa.array([[list(range(m)) for m in range(n % 4)] for n in numbers]),
            "struct": pa.array([{"x": n, "inner": {"y": f"{n}"}} for n in numbers]),
        }
    )


def row(n: int) -> dict[str, Any]:
    """Row `n` of it, as nested lists."""
    return {
        "int": n,
        "float": n / 4,
        "half": float(n),
        "bool": n % 3 == 0,
        "text": f"é{n}" * (n % 3),
        "large": f"{n}",
        "bytes": bytes([n % 256, 0]),
        "fixed": b"%04d" % n,
        "word": f"w{n % 3}",
        "time": EPOCH + dt.timedelta(seconds=n),
        "day": (EPOCH + dt.timedelta(days=n)).date(),
        "clock": dt.timedelta(hours=n % 24, minutes=n % 60),
        "span": dt.timedelta(hours=n),
        "list": list(range(n % 4)),
        "words": [f"{n}"] * (n % 3),
        "pair": [2.0 * n, 2.0 * n + 1],
        "pairs": [[n, m] for m in range(n % 3)],
        "lists": [list(range(m)) for m in range(n % 4)],
        "struct": {"x": n, "inner": {"y": f"{n}"}},
    }


def plain(value: Any) -> Any:
    """An element as nested lists of Python values."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if hasattr(value, "to_list"):
        return value.to_list()
    return value.tolist() if hasattr(value, "tolist") else value
