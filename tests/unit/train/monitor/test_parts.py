"""The parts of a monitor, each by itself: sums, readings, loss scalers, device memory, what is on the stack."""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import pytest

from penstock.machine.readings import AcceleratorReading, HostReading
from penstock.telemetry.trace import Interval, Sample
from penstock.train.monitor.callback import fit_frame
from penstock.train.monitor.columns import columns
from penstock.train.monitor.device_memory import peak_bytes
from penstock.train.monitor.epoch import Epoch, Sums, read_over
from penstock.train.monitor.hearing import hear_epochs_of
from penstock.train.monitor.loss_scale import TorchLossScale, keras_loss_scale
from penstock.train.monitor.standing import Standing
from penstock.train.monitor.summary import as_markup
from penstock.train.monitor.training import curves
from tests.unit.diagnose.traces import ours


def test_sums_leave_the_first_wait_out_of_what_starved() -> None:
    sums = Sums()
    sums.add(Interval(at_s=0.0, wait_s=3.0), 1.0)
    sums.add(Interval(at_s=4.0, wait_s=0.5, starved_s=0.25), 1.5)
    assert (sums.steps, sums.seconds, sums.wait_s, sums.starved_s, sums.first_s) == (2, 6.0, 3.5, 0.25, 3.0)
    assert sums.slowest_s == 2.0


def reading(at_s: float, **parts: Any) -> Sample:
    devices = tuple(AcceleratorReading(index=n, name="H200", **one) for n, one in enumerate(parts.pop("devices", ())))
    return Sample(at_s=at_s, host=HostReading(accelerators=devices, **parts))


def test_readings_of_an_epoch_are_those_within_it() -> None:
    samples = [
        reading(0.0, cores=(1.0, 1.0), rss_bytes=1, devices=[{"power_w": 99.0}]),
        reading(1.0, cores=(0.5, 0.0), rss_bytes=10, devices=[
            {"utilisation": 0.5, "memory_used_bytes": 3, "power_w": 100.0, "temperature_c": 40.0},
            {"utilisation": 1.0, "memory_used_bytes": 4, "power_w": 200.0, "temperature_c": 60.0},
        ]),
        reading(2.0, cores=(1.0, 0.5), rss_bytes=9, devices=[{"utilisation": None}]),
        reading(9.0, cores=(0.0, 0.0), rss_bytes=99),
    ]  # fmt: skip
    assert read_over(samples, 0.5, 2.5) == {
        "cores": 0.5, "rss_bytes": 10, "utilisation": 0.75, "device_bytes": 7, "power_w": 300.0, "temperature_c": 60.0
    }  # fmt: skip


def test_an_epoch_shorter_than_a_reading_has_the_one_before_it() -> None:
    found = read_over([reading(0.0, rss_bytes=5), reading(1.0, rss_bytes=7)], 1.2, 1.4)
    assert (found["rss_bytes"], found["utilisation"]) == (7, None)
    assert read_over([], 0.0, 1.0)["rss_bytes"] is None


def test_columns_are_those_of_which_something_is_known() -> None:
    head, rows = columns([Epoch(number=0, steps=2, seconds=1.0, power_w=12.3)], is_upper_bound=False)
    assert head == ["epoch", "steps", "seconds", "a step", "slowest", "power"]
    assert rows[0][-1] == "12 W"
    head, _ = columns([Epoch(number=0, steps=2, seconds=1.0, starved_s=0.5)], is_upper_bound=True)
    assert head[-1] == "waits at most"


def test_keras_counts_steps_that_it_applied() -> None:
    inner = types.SimpleNamespace(gradient_accumulation_steps=None)
    optimizer = types.SimpleNamespace(inner_optimizer=inner, dynamic_growth_steps=2000, iterations=7)
    scale = keras_loss_scale(types.SimpleNamespace(optimizer=optimizer))
    assert scale is not None
    optimizer.iterations = 15
    assert scale.skipped(10) == 2
    optimizer.iterations = 26
    assert scale.skipped(10) == 0  # TensorFlow counts one more where the length is unknown
    assert keras_loss_scale(types.SimpleNamespace(optimizer=types.SimpleNamespace(iterations=3))) is None
    assert keras_loss_scale(None) is None


class Optimizer:
    def __init__(self) -> None:
        self.hooks: list[Any] = []

    def register_step_post_hook(self, hook: Any) -> None:
        self.hooks.append(hook)

    def step(self) -> None:
        for hook in self.hooks:
            hook(self, (), {})


class Scaler:
    """As torch.amp.GradScaler: it leaves a step out where a gradient is not finite."""

    is_finite = True

    def step(self, optimizer: Optimizer) -> None:
        if self.is_finite:
            optimizer.step()


def test_torch_calls_the_optimizer_or_leaves_it_out() -> None:
    scaler, optimizer = Scaler(), Optimizer()
    scale = TorchLossScale(scaler)
    for scaler.is_finite in (True, False, True, False, False):
        scaler.step(optimizer)
    assert scale.skipped(5) == 3
    assert scale.skipped(0) == 0


def test_a_fused_optimizer_tells_nothing() -> None:
    scaler, optimizer = Scaler(), Optimizer()
    optimizer._step_supports_amp_scaling = True  # type: ignore[attr-defined] # as PyTorch marks it
    scale = TorchLossScale(scaler)
    scaler.step(optimizer)
    assert scale.skipped(1) is None


def of_torch(is_open: bool, peak: int) -> Any:
    cuda = types.SimpleNamespace(is_initialized=lambda: is_open, max_memory_allocated=lambda: peak)
    return {"torch": types.SimpleNamespace(cuda=cuda)}


def of_jax(stats: Any) -> Any:
    return {"jax": types.SimpleNamespace(local_devices=lambda: [types.SimpleNamespace(memory_stats=lambda: stats)])}


def of_tensorflow(devices: list[str]) -> Any:
    experimental = types.SimpleNamespace(get_memory_info=lambda name: {"peak": 5})
    config = types.SimpleNamespace(list_logical_devices=lambda kind: devices, experimental=experimental)
    return {"tensorflow": types.SimpleNamespace(config=config)}


@pytest.mark.parametrize(
    ("framework", "modules", "expected"),
    [
        ("torch", of_torch(True, 5), 5),
        ("torch", of_torch(False, 5), None),
        ("jax", of_jax({"peak_bytes_in_use": 5}), 5),
        ("jax", of_jax({"bytes_in_use": 5}), None),
        ("jax", of_jax(None), None),
        ("tensorflow", of_tensorflow(["GPU:0"]), 5),
        ("tensorflow", of_tensorflow([]), None),
        ("torch", {}, None),
        ("", {}, None),
    ],
)
def test_device_memory_is_what_the_framework_says(framework: str, modules: Any, expected: int | None) -> None:
    assert peak_bytes(framework, modules) == expected


def test_a_function_stands_until_it_returns_and_another_thread_is_not_told() -> None:
    standing = Standing()
    assert not standing.is_there()

    def train() -> list[bool]:
        standing.note(sys._getframe(0))
        found: list[bool] = []
        other = threading.Thread(target=lambda: found.append(standing.is_there()))
        other.start()
        other.join()
        return [*found, standing.is_there()]

    assert train() == [False, True]
    assert not standing.is_there()


def test_the_frame_of_fit_is_found_and_else_the_callers() -> None:
    def fit() -> Any:
        def on_train_begin() -> Any:
            return fit_frame(sys._getframe(0))

        return on_train_begin()

    def loop() -> Any:
        return fit_frame(sys._getframe(0))

    assert fit().f_code.co_name == "fit"
    assert loop().f_code.co_name == "loop"


def test_a_class_is_asked_once_to_be_heard() -> None:
    class Iterator:
        data_adapter = object()

        def _get_iterator(self) -> Any:
            return [1, 2]

    hear_epochs_of(Iterator)
    once = Iterator._get_iterator
    hear_epochs_of(Iterator)
    assert Iterator._get_iterator is once
    assert Iterator()._get_iterator() == [1, 2]


def test_curves_spread_what_was_thinned_over_the_steps_left_out() -> None:
    whole = ours(intervals=tuple(Interval(at_s=0.1 * n, wait_s=0.05, starved_s=0.05) for n in range(101)))
    steps, starved = curves(whole)
    assert len(steps) == len(starved) <= 60
    assert all(each == pytest.approx(0.1) for _, each in steps)
    assert all(each == pytest.approx(0.5) for _, each in starved)
    thinned = ours(intervals=whole.intervals[::4])
    assert all(each == pytest.approx(0.1, rel=0.03) for _, each in curves(thinned)[0])
    assert all(each == pytest.approx(0.5, rel=0.03) for _, each in curves(thinned)[1])
    assert curves(ours(intervals=())) == ((), ())


def test_nothing_of_a_summary_is_taken_for_markup() -> None:
    assert as_markup("a [red]b\nalarm at 1 s: c") == "[bold]a \\[red]b[/bold]\n[red]alarm at 1 s: c[/red]"
