"""Devices as a framework names them, with what NVML says of the cards that they are."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.machine.cards import Card, CardUser, process_name
from penstock.machine.nvml import read_cards
from penstock.machine.readings import AcceleratorReading
from penstock.train.device.listing import Named, arrange, devices
from penstock.train.device.release import release
from tests.unit.machine.fake_nvml import FakeNvml, NVMLError

GIB = 2**30


def card(number: int, name: str = "H200", **changed: Any) -> Card:
    reading = AcceleratorReading(index=number, name=name, memory_used_bytes=number * GIB, memory_total_bytes=100 * GIB)
    return Card(reading=reading, uuid=f"GPU-{number}", **changed)


def gpu(number: int, uuid: str = "") -> Named:
    return Named(name=f"cuda:{number}", kind="cuda", is_gpu=True, uuid=uuid)


def test_cards_say_who_they_are_and_who_uses_them() -> None:
    told = {
        "uuid": "GPU-7", "name": "H200", "memory": (5, 10), "capability": (9, 0),
        "users": [(os.getpid(), 3), (4_000_000, None)],
    }  # fmt: skip
    library = FakeNvml([told, {"uuid": "GPU-8"}])
    (first, second), why = read_cards({"CUDA_VISIBLE_DEVICES": "0,1"}, library)
    assert why == ""
    assert (first.uuid, first.capability, second.capability, second.users) == ("GPU-7", (9, 0), None, None)
    assert first.users is not None
    assert [(user.is_this_process, user.memory_bytes) for user in first.users] == [(True, 3), (False, None)]
    assert (first.users[0].name, first.users[1].name) == (process_name(os.getpid()), "")
    assert library.opened == 0
    cards, why = read_cards({}, FakeNvml([], init_error=NVMLError(12, "Driver Not Loaded")))
    assert (cards, why) == ((), "no NVIDIA telemetry: Driver Not Loaded")


def test_cards_are_matched_by_uuid_where_the_framework_says_it() -> None:
    listed = arrange("torch", (gpu(0, uuid="1"), gpu(1, uuid="0")), (card(0), card(1)))
    assert [device.memory_used_bytes for device in listed] == [1 * GIB, 0]
    assert listed[0].memory_free_bytes == 99 * GIB
    assert listed.notes == ()


def test_cards_are_matched_by_order_where_it_does_not() -> None:
    listed = arrange("tensorflow", (gpu(0), gpu(1)), (card(0), card(1, "L4")))
    assert [device.kind for device in listed] == ["H200", "L4"]
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in listed.notes[0]


def test_cards_are_matched_by_place_where_only_some_are_visible() -> None:
    second = Named(name="GPU:1", kind="gpu", is_gpu=True, place=1)
    listed = arrange("tensorflow", (second,), (card(0), card(1)))
    assert [device.uuid for device in listed] == ["GPU-1"]
    assert listed.notes == ()


def test_numbers_that_do_not_match_are_told_and_nothing_is_guessed() -> None:
    listed = arrange("jax", (gpu(0),), (card(0), card(1)))
    assert listed[0].memory_total_bytes is None
    assert listed.notes == (
        "jax has 1 GPUs and NVML 2: those that do not match tell nothing",
        "the memory of these devices is not known: no telemetry",
    )


def test_without_a_gpu_each_absence_is_told_once() -> None:
    cpus = tuple(Named(name=f"TFRT_CPU_{n}", kind="cpu", is_gpu=False) for n in range(2))
    listed = arrange("jax", cpus, (), "no NVIDIA telemetry: nvidia-ml-py is not installed")
    assert len(listed) == 2
    assert listed.notes == (
        "no NVIDIA telemetry: nvidia-ml-py is not installed", "the memory of these devices is not known: no GPU",
    )  # fmt: skip
    assert arrange("torch", cpus, (card(0),)).notes[0] == "torch uses none of the 1 GPUs that NVML sees"


def test_a_framework_that_has_not_started_is_not_started_to_list_its_devices() -> None:
    jax = SimpleNamespace(
        _src=SimpleNamespace(xla_bridge=SimpleNamespace(backends_are_initialized=lambda: False)),
        local_devices=lambda: pytest.fail("started"),
        config=SimpleNamespace(jax_platforms=None),
    )
    listed = devices("jax", cards=lambda: ((card(3, capability=(9, 0)),), ""), modules={"jax": jax})
    assert [(device.name, device.kind, device.capability) for device in listed] == [("cuda:0", "H200", (9, 0))]
    assert listed.notes == ("jax has not started: these are the names it will give",)
    jax.config.jax_platforms = "cpu"
    listed = devices("jax", cards=lambda: ((card(3),), ""), modules={"jax": jax})
    assert [device.kind for device in listed] == ["cpu"]


@pytest.mark.parametrize(("told", "expected"), [("9.0", (9, 0)), ("gfx942", None), (None, None), ("12.1", (12, 1))])
def test_a_started_framework_tells_its_capability_without_nvml(told: str | None, expected: Any) -> None:
    jax = SimpleNamespace(
        _src=SimpleNamespace(xla_bridge=SimpleNamespace(backends_are_initialized=lambda: True)),
        local_devices=lambda: [SimpleNamespace(device_kind="H200", platform="gpu", compute_capability=told)],
    )
    listed = devices("jax", cards=lambda: ((), "no NVIDIA telemetry"), modules={"jax": jax})
    assert listed[0].capability == expected


def test_a_table_is_for_people() -> None:
    users = (CardUser(pid=os.getpid(), name="python", memory_bytes=GIB), CardUser(pid=17, name="train"))
    reading = AcceleratorReading(
        index=0, name="H200", memory_used_bytes=GIB, memory_total_bytes=3 * GIB, power_w=310.2, temperature_c=61.0
    )
    listed = arrange("torch", (gpu(0), gpu(1)), (Card(reading=reading, users=users), Card(reading=reading, users=())))
    head, first, second = str(listed).splitlines()
    assert head.split() == "device kind memory used free total temperature power used by".split()
    assert first.split("  ")[0] == "cuda:0"
    assert first.endswith("1.0 GiB      2.0 GiB  3.0 GiB  61 C         310 W  this process (1.0 GiB), train 17")
    assert second.endswith("nobody")
    assert [user.pid for user in listed[0].other_users] == [17]


def test_release_clears_what_is_imported_and_reports() -> None:
    emptied: list[str] = []
    reserved = [5 * GIB, 2 * GIB]
    resident = [700, 500]
    cuda = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, device_count=lambda: 1,
        memory_reserved=lambda n: reserved.pop(0), empty_cache=lambda: emptied.append("cuda"),
    )  # fmt: skip
    released = release({"torch": SimpleNamespace(cuda=cuda)}, lambda: resident.pop(0))
    assert emptied == ["cuda"]
    assert (released.host_bytes, released.device_bytes) == (200, (("cuda:0", 3 * GIB),))
    assert str(released) == (
        "given back: 200 B of the host, 3.0 GiB of cuda:0 (cleared: unreachable objects, PyTorch's CUDA cache)"
    )


def test_release_with_no_framework_still_collects() -> None:
    released = release({}, iter([500, 700]).__next__)
    assert (released.host_bytes, released.cleared) == (-200, ("unreachable objects",))
    assert "given back: -200 B of the host" in str(released)
