"""An NVML that a test fills in: devices as dicts of what they tell; what they lack is Not Supported."""

# ruff: noqa: N802  # the names are NVML's

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    def __init__(self, value: int, text: str) -> None:
        super().__init__(text)
        self.value = value


NOT_SUPPORTED = NVMLError(3, "Not Supported")


class FakeNvml:
    """`devices`: each with what it tells under the names below. `asked`: every question, in order."""

    def __init__(self, devices: list[dict[str, Any]], init_error: Exception | None = None) -> None:
        self.devices = devices
        self.init_error = init_error
        self.asked: list[str] = []
        self.opened = 0

    def nvmlInit(self) -> None:
        if self.init_error is not None:
            raise self.init_error
        self.opened += 1

    def nvmlShutdown(self) -> None:
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:
        return next(index for index, device in enumerate(self.devices) if uuid in device.get("mig", ()))

    def _tell(self, handle: int, name: str) -> Any:
        self.asked.append(name)
        told = self.devices[handle].get(name, NOT_SUPPORTED)
        if isinstance(told, Exception):
            raise told
        return told

    def nvmlDeviceGetUUID(self, handle: int) -> bytes:
        return self._tell(handle, "uuid").encode()

    def nvmlDeviceGetName(self, handle: int) -> bytes:
        return self._tell(handle, "name").encode()

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:
        return self._tell(handle, "capability")

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self._tell(handle, "users")]

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return SimpleNamespace(gpu=self._tell(handle, "utilisation"))

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        used, total = self._tell(handle, "memory")
        return SimpleNamespace(used=used, total=total)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return self._tell(handle, "milliwatt")

    def nvmlDeviceGetTemperatureV(self, handle: int, sensor: int) -> int:
        return self._tell(handle, "temperature of a newer driver")

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:
        return self._tell(handle, "temperature")

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: int) -> int:
        return self._tell(handle, "reasons")

    def nvmlGpmQueryDeviceSupport(self, handle: int) -> Any:
        return SimpleNamespace(isSupportedDevice=int("activity" in self.devices[handle]))

    def nvmlGpmSampleAlloc(self) -> dict[str, float]:
        return {}

    def nvmlGpmSampleFree(self, sample: dict[str, float]) -> None:
        sample["freed"] = 1.0

    def nvmlGpmSampleGet(self, handle: int, sample: dict[str, float]) -> None:
        """The total so far: it grows by what the device tells each time."""
        device = self.devices[handle]
        device["total"] = device.get("total", 0.0) + self._tell(handle, "activity")
        sample["total"] = device["total"]

    def c_nvmlGpmMetricsGet_t(self) -> Any:
        metric = SimpleNamespace(metricId=0, nvmlReturn=0, value=0.0)
        return SimpleNamespace(version=0, numMetrics=0, sample1=None, sample2=None, metrics=[metric])

    def nvmlGpmMetricsGet(self, asked: Any) -> None:
        assert (asked.version, asked.numMetrics, asked.metrics[0].metricId) == (1, 1, 2)
        asked.metrics[0].value = asked.sample2["total"] - asked.sample1["total"]
