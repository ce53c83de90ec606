"""Which precision a device can and should compute in: tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.machine.cpu import cpu_flags
from penstock.train.device.listing import Device, DeviceList
from penstock.train.precision.ability import Ability, best_precision, check_ability, parse_precision
from penstock.train.precision.lever import find_ability, set_precision
from tests.unit.machine.trees import write_tree

HOPPER = Ability(kind="gpu", name="H200", capability=(9, 0))
VOLTA = Ability(kind="gpu", name="V100", capability=(7, 0))
PASCAL = Ability(kind="gpu", name="P100", capability=(6, 0))
MAXWELL = Ability(kind="gpu", name="M40", capability=(5, 2))
STRANGE = Ability(kind="gpu", name="GPU")
TPU = Ability(kind="tpu")
SAPPHIRE = Ability(kind="cpu", cpu_flags=frozenset({"avx2", "amx_bf16"}))
PLAIN = Ability(kind="cpu", cpu_flags=frozenset({"avx2"}))


@pytest.mark.parametrize(
    ("ability", "expected"),
    [
        (HOPPER, "mixed_bfloat16"),
        (Ability(kind="gpu", capability=(8, 0)), "mixed_bfloat16"),
        (Ability(kind="gpu", capability=(7, 5)), "mixed_float16"),
        (VOLTA, "mixed_float16"),
        (PASCAL, "float32"),
        (STRANGE, "float32"),
        (TPU, "mixed_bfloat16"),
        (SAPPHIRE, "mixed_bfloat16"),
        (PLAIN, "float32"),
    ],
)
def test_auto_goes_by_what_the_device_has(ability: Ability, expected: str) -> None:
    name, why = best_precision(ability)
    assert name == expected
    assert why
    assert check_ability(name, ability) == ""


@pytest.mark.parametrize(
    ("precision", "ability", "instead"),
    [
        ("mixed_bfloat16", VOLTA, "mixed_float16"), ("bfloat16", VOLTA, "mixed_float16"),
        ("mixed_bfloat16", PASCAL, "float32"), ("mixed_float16", MAXWELL, "float32"),
        ("mixed_float16", TPU, "mixed_bfloat16"),
    ],
)  # fmt: skip
def test_what_a_device_cannot_do_is_refused_with_what_it_can(precision: Any, ability: Ability, instead: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"cannot compute in '{precision}'; got .*precision=\"{instead}\""):
        check_ability(precision, ability)


@pytest.mark.parametrize(
    ("precision", "ability", "is_told"),
    [
        ("float32", MAXWELL, False), ("mixed_float16", PASCAL, True), ("mixed_float16", HOPPER, False),
        ("mixed_bfloat16", STRANGE, False), ("mixed_bfloat16", PLAIN, True), ("mixed_float16", SAPPHIRE, True),
        ("bfloat16", SAPPHIRE, False),
    ],
)  # fmt: skip
def test_what_does_not_pay_is_told(precision: Any, ability: Ability, is_told: bool) -> None:
    assert ("not faster" in check_ability(precision, ability)) is is_told


def test_an_unknown_precision_lists_what_exists() -> None:
    with pytest.raises(InvalidArgumentError, match="got 'fp8', expected \"auto\" or one of 'float32', 'mixed_float16'"):
        parse_precision("fp8")


def test_several_devices_can_do_what_the_least_of_them_can() -> None:
    gpus = (Device(name="GPU:0", kind="H200", capability=(9, 0)), Device(name="GPU:1", kind="V100", capability=(7, 0)))
    assert find_ability(DeviceList(backend="tensorflow", devices=gpus)) == VOLTA
    unknown = DeviceList(backend="torch", devices=(Device(name="cuda:0", kind="cuda"),))
    assert find_ability(unknown) == Ability(kind="gpu", name="cuda")
    assert find_ability(DeviceList(backend="jax", devices=(Device(name="TPU_0", kind="TPU v5e"),))).kind == "tpu"
    assert find_ability(DeviceList(backend="jax", devices=(Device(name="TFRT_CPU_0", kind="cpu"),))).kind == "cpu"


def test_flags_of_the_cpu_are_read_where_they_are(tmp_path: Any) -> None:
    assert cpu_flags(tmp_path) == frozenset()
    write_tree(tmp_path, {"proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu amx_bf16\n\nflags\t\t: fpu\n"})
    assert cpu_flags(tmp_path) == {"fpu", "amx_bf16"}


class FakeKeras:
    def __init__(self, backend: str) -> None:
        self.policy = SimpleNamespace(name="float32")
        self.config = SimpleNamespace(
            backend=lambda: backend, dtype_policy=lambda: self.policy, set_dtype_policy=self._set
        )

    def _set(self, policy: Any) -> None:
        self.policy = SimpleNamespace(name=policy) if isinstance(policy, str) else policy


def test_keras_policy_is_set_and_taken_back() -> None:
    keras = FakeKeras("torch")
    name, (change,) = set_precision("torch", "auto", ability=HOPPER, modules={"keras": keras}, environment={})
    assert (name, keras.policy.name) == ("mixed_bfloat16", "mixed_bfloat16")
    again = set_precision("torch", "mixed_bfloat16", ability=HOPPER, modules={"keras": keras}, environment={})
    assert again[1][0].outcome == "not needed"
    assert set_precision("torch", modules={"keras": keras}, environment={}) == ("mixed_bfloat16", ())
    assert change.undo is not None
    change.undo()
    assert keras.policy.name == "float32"


def test_without_keras_raw_loops_are_told_how() -> None:
    name, (change,) = set_precision("jax", "mixed_bfloat16", ability=TPU, modules={}, environment={})
    assert name == "mixed_bfloat16"
    assert "casting_policy(runtime)" in change.why
    keras = FakeKeras("jax")
    name, (change,) = set_precision("torch", "bfloat16", ability=HOPPER, modules={"keras": keras}, environment={})
    assert (name, keras.policy.name) == ("bfloat16", "float32")
    assert "autocast(runtime)" in str(change)


def test_a_precision_that_cannot_be_changes_nothing() -> None:
    keras = FakeKeras("jax")
    for precision in ("mixed_bfloat16", "double"):
        with pytest.raises(InvalidArgumentError):
            set_precision("jax", precision, ability=VOLTA, modules={"keras": keras}, environment={})
    assert keras.policy.name == "float32"
    assert set_precision("jax", modules={}, environment={}) == ("float32", ())
