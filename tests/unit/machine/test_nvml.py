"""NVIDIA's accelerators as a fake library tells them: each number may be missing, none stops the rest."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.machine.accelerators import visible_devices
from penstock.machine.nvml import open_accelerators
from penstock.machine.readings import AcceleratorReading
from tests.unit.machine.fake_nvml import FakeNvml, NVMLError


def whole(number: int = 0, **changed: Any) -> dict[str, Any]:
    told = {
        "uuid": f"GPU-{number}abc", "name": "NVIDIA H200", "utilisation": 93, "memory": (5, 10), "milliwatt": 310_500,
        "temperature of a newer driver": 61, "reasons": 0x4 | 0x40 | 0x1, "activity": 42.0,
    }  # fmt: skip
    return {name: value for name, value in {**told, **changed}.items() if value is not None}


def test_a_device_that_tells_everything() -> None:
    opened = open_accelerators({}, FakeNvml([whole()]))
    assert opened.why_none == ""
    assert opened.read() == (
        AcceleratorReading(
            index=0, name="NVIDIA H200", utilisation=0.93, sm_activity=0.42, memory_used_bytes=5,
            memory_total_bytes=10, power_w=310.5, temperature_c=61.0, throttled=("power cap", "too hot (hardware)"),
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("missing", "field"),
    [
        ("utilisation", "utilisation"), ("memory", "memory_used_bytes"), ("milliwatt", "power_w"),
        ("activity", "sm_activity"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_none_and_asked_once(missing: str, field: str) -> None:
    library = FakeNvml([whole(**{missing: None})])
    opened = open_accelerators({}, library)
    readings = opened.read() + opened.read()
    assert [getattr(reading, field) for reading in readings] == [None, None]
    assert library.asked.count(missing) <= 1
    assert readings[1].temperature_c == 61.0


def test_a_device_that_tells_nothing_is_there_all_the_same() -> None:
    (reading,) = open_accelerators({}, FakeNvml([{}])).read()
    assert reading == AcceleratorReading(index=0, name="GPU 0")


def test_what_may_pass_is_asked_again() -> None:
    library = FakeNvml([whole(utilisation=NVMLError(10, "Timeout"))])
    opened = open_accelerators({}, library)
    assert opened.read()[0].utilisation is None
    library.devices[0]["utilisation"] = 50
    assert opened.read()[0].utilisation == 0.5


def test_an_older_driver_tells_the_temperature_by_its_older_call() -> None:
    library = FakeNvml([whole(**{"temperature of a newer driver": None, "temperature": 55})])
    opened = open_accelerators({}, library)
    assert [opened.read()[0].temperature_c for _ in range(2)] == [55.0, 55.0]
    assert library.asked.count("temperature of a newer driver") == 1


def test_activity_is_that_since_the_reading_before() -> None:
    library = FakeNvml([whole(activity=10.0)])
    opened = open_accelerators({}, library)
    seen = []
    for share in (10.0, 80.0, 30.0):
        library.devices[0]["activity"] = share
        seen.append(opened.read()[0].sm_activity)
    assert seen == [0.1, 0.8, 0.3]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("2,0", [2, 0]),
        ("1,7,0", [1]),
        ("GPU-2abc,GPU-0abc", [2, 0]),
        ("GPU-1", [1]),
        ("GPU-", []),
        ("0,0,1", [0]),
    ],
)
def test_visible_devices_are_those_that_cuda_would_see(said: str | None, names: list[int]) -> None:
    environ = {} if said is None else {"CUDA_VISIBLE_DEVICES": said}
    library = FakeNvml([whole(number) for number in range(3)])
    opened = open_accelerators(environ, library)
    assert [reading.index for reading in opened.read()] == names
    assert (opened.why_none == "") == bool(names)
    opened.close()
    opened.close()
    assert library.opened == 0
    assert opened.read() == ()


def test_a_part_of_a_device_is_found_by_its_own_name() -> None:
    opened = open_accelerators({"CUDA_VISIBLE_DEVICES": "MIG-77"}, FakeNvml([whole(mig=("MIG-77",))]))
    assert len(opened.read()) == 1


@pytest.mark.parametrize("text", ["NVML Shared Library Not Found", "Driver Not Loaded", "Insufficient Permissions"])
def test_without_a_driver_the_reason_is_told(text: str) -> None:
    opened = open_accelerators({}, FakeNvml([], init_error=NVMLError(12, text)))
    assert text in opened.why_none
    assert opened.read() == ()
    opened.close()


def test_no_device_is_a_reason_too() -> None:
    assert "visible" in open_accelerators({}, FakeNvml([])).why_none


@pytest.mark.parametrize(
    ("said", "found"), [("0, 1", ("0", "1")), ("GPU-a,x,1", ("GPU-a",)), ("MIG-1", ("MIG-1",)), ("NoDevFiles", ())]
)
def test_the_list_ends_where_it_is_not_understood(said: str, found: tuple[str, ...]) -> None:
    assert visible_devices({"CUDA_VISIBLE_DEVICES": said}) == found
