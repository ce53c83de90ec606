"""NVIDIA's accelerators, through NVML. Every number may be missing by itself: chips, drivers and containers differ.

Utilisation only says that some kernel ran; SM activity (GPM, from Hopper on) says how much of the chip did, which is
what DCGM shows. Source: NVML API reference, nvmlDeviceGetUtilizationRates, nvmlGpmMetricsGet, clocks event reasons.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from penstock.machine.accelerators import Accelerators, NoAccelerators, as_text, visible_devices
from penstock.machine.cards import Card, describe
from penstock.machine.readings import AcceleratorReading

T = TypeVar("T")

_REASONS = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x20: "too hot", 0x40: "too hot (hardware)", 0x80: "power brake",
}  # fmt: skip
_GPU_SENSOR = 0
_SM_UTIL = 2  # NVML_GPM_METRIC_SM_UTIL: percentage of SMs that were busy
_GPM_VERSION = 1


def open_accelerators(environ: Mapping[str, str] = os.environ, library: Any = None) -> Accelerators:
    """The NVIDIA accelerators that CUDA_VISIBLE_DEVICES lets this process use, or none with the reason.

    library: `pynvml`, imported here if None. Cost: 80 ms to import, some more for the driver to answer; never raises.
    """
    if library is None:
        try:
            import pynvml as library  # type: ignore[no-redef]  # the caller's stands for it  # 80 ms, so only here
        except ImportError:
            return NoAccelerators("no NVIDIA telemetry: nvidia-ml-py is not installed")
    try:
        library.nvmlInit()
    except Exception as error:  # noqa: BLE001  # a driver may refuse in any way; telemetry must not stop training
        return NoAccelerators(f"no NVIDIA telemetry: {error}")
    try:
        handles = _handles(library, visible_devices(environ))
    except Exception as error:  # noqa: BLE001  # likewise
        handles, why = [], f"no NVIDIA telemetry: {error}"
    else:
        why = "no NVIDIA accelerator is visible to this process"
    if not handles:
        with suppress(Exception):
            library.nvmlShutdown()
        return NoAccelerators(why)
    return Nvml(library, handles)


def read_cards(environ: Mapping[str, str] = os.environ, library: Any = None) -> tuple[tuple[Card, ...], str]:
    """The cards that this process may use, in the order of CUDA_VISIBLE_DEVICES, and why there is none, or "".

    Cost: as `open_accelerators`, which it opens and closes. Initialises nothing of CUDA.
    """
    opened = open_accelerators(environ, library)
    try:
        return (opened.cards() if isinstance(opened, Nvml) else ()), opened.why_none
    finally:
        opened.close()


class Nvml:
    """Open devices. Not for several threads at once."""

    why_none = ""

    def __init__(self, library: Any, handles: list[tuple[int, Any]]) -> None:
        self._library = library
        self._devices = [_Device(library, index, handle) for index, handle in handles]
        self._is_open = True

    def read(self) -> tuple[AcceleratorReading, ...]:
        """Each device now. Cost: some 0.2 ms a device."""
        return tuple(device.read() for device in self._devices) if self._is_open else ()

    def cards(self) -> tuple[Card, ...]:
        """Who each device is, with its reading and its users. Cost: some 1 ms a device."""
        return tuple(device.card() for device in self._devices) if self._is_open else ()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            for device in self._devices:
                device.close()
            with suppress(Exception):
                self._library.nvmlShutdown()


def _handles(library: Any, visible: tuple[str, ...] | None) -> list[tuple[int, Any]]:
    """The devices meant, with their index; an index or UUID that is not there ends the list, as for CUDA."""
    count = library.nvmlDeviceGetCount()
    handles = [(index, library.nvmlDeviceGetHandleByIndex(index)) for index in range(count)]
    if visible is None:
        return handles
    found = []
    for word in visible:
        if word.isdecimal():
            if int(word) >= count:
                break
            found.append(handles[int(word)])
        elif word.startswith("MIG-"):
            found.append((len(found), library.nvmlDeviceGetHandleByUUID(word)))
        else:
            named = [each for each in handles if as_text(library.nvmlDeviceGetUUID(each[1])).startswith(word)]
            if len(named) != 1:
                break
            found.append(named[0])
    return found


class _Device:
    """One device: what it does not support is asked once."""

    def __init__(self, library: Any, index: int, handle: Any) -> None:
        self._library = library
        self._index = index
        self._handle = handle
        self._missing: set[str] = set()
        self._name = as_text(self._asked("name", lambda: library.nvmlDeviceGetName(handle)) or f"GPU {index}")
        self._activity = self._asked("activity", lambda: _Activity(library, handle))

    def _asked(self, what: str, ask: Callable[[], T]) -> T | None:
        """What `ask` gives; None where the device does not tell, now or ever."""
        if what in self._missing:
            return None
        try:
            return ask()
        except Exception as error:  # noqa: BLE001  # each number may be refused in ways of its own
            if getattr(error, "value", None) not in _MAY_PASS:
                self._missing.add(what)
            return None

    def read(self) -> AcceleratorReading:
        nvml, handle = self._library, self._handle
        rates = self._asked("utilisation", lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
        memory = self._asked("memory", lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        activity = self._activity
        return AcceleratorReading(
            index=self._index,
            name=self._name,
            utilisation=rates,
            sm_activity=None if activity is None else self._asked("activity", activity.read),
            memory_used_bytes=None if memory is None else int(memory.used),
            memory_total_bytes=None if memory is None else int(memory.total),
            power_w=self._asked("power", lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000),
            temperature_c=self._asked("temperature", self._temperature),
            throttled=self._asked("throttled", self._throttled) or (),
        )

    def card(self) -> Card:
        return describe(self._library, self._handle, self.read(), self._asked)

    def _temperature(self) -> float:
        nvml = self._library
        newer = getattr(nvml, "nvmlDeviceGetTemperatureV", None)
        if newer is not None and "newer temperature" not in self._missing:
            try:
                return float(newer(self._handle, _GPU_SENSOR))
            except Exception:  # noqa: BLE001  # a driver that is older than the package
                self._missing.add("newer temperature")
        return float(nvml.nvmlDeviceGetTemperature(self._handle, _GPU_SENSOR))

    def _throttled(self) -> tuple[str, ...]:
        nvml = self._library
        ask = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
        mask = int((ask or nvml.nvmlDeviceGetCurrentClocksThrottleReasons)(self._handle))
        return tuple(reason for bit, reason in _REASONS.items() if mask & bit)

    def close(self) -> None:
        if self._activity is not None:
            self._activity.close()


class _Activity:
    """Share of the multiprocessors at work between one reading and the next, by GPM. Raises: as NVML without it."""

    def __init__(self, library: Any, handle: Any) -> None:
        if not library.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
            raise NotImplementedError("no GPM")
        self._library = library
        self._handle = handle
        self._samples = [library.nvmlGpmSampleAlloc(), library.nvmlGpmSampleAlloc()]
        library.nvmlGpmSampleGet(handle, self._samples[0])

    def read(self) -> float | None:
        nvml = self._library
        before, now = self._samples
        nvml.nvmlGpmSampleGet(self._handle, now)
        self._samples = [now, before]
        asked = nvml.c_nvmlGpmMetricsGet_t()
        asked.version, asked.numMetrics = _GPM_VERSION, 1
        asked.sample1, asked.sample2 = before, now
        asked.metrics[0].metricId = _SM_UTIL
        nvml.nvmlGpmMetricsGet(asked)
        metric = asked.metrics[0]
        return None if metric.nvmlReturn else float(metric.value) / 100

    def close(self) -> None:
        for sample in self._samples:
            with suppress(Exception):
                self._library.nvmlGpmSampleFree(sample)


_MAY_PASS = {10, 999}  # NVML_ERROR_TIMEOUT, NVML_ERROR_UNKNOWN
