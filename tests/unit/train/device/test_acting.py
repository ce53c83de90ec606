"""The hands of each framework, on frameworks that are fakes; the real ones are in tests/framework."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, Location, TooLateError
from penstock.machine.cards import Card
from penstock.machine.readings import AcceleratorReading
from penstock.train.device.configure import configure
from penstock.train.device.first_use import too_late, watch_first_use
from penstock.train.device.on_jax import OnJax
from penstock.train.device.on_tensorflow import OnTensorFlow
from penstock.train.device.on_torch import OnTorch
from penstock.train.device.plan import plan
from penstock.train.device.request import Request
from penstock.train.device.steps import Step

GIB = 2**30
CARD = Card(reading=AcceleratorReading(index=0, name="H200", memory_total_bytes=100 * GIB), uuid="GPU-a")


class FakeTensorFlow:
    """Two GPUs; `late`: it has started."""

    def __init__(self, gpus: int = 2, late: bool = False) -> None:
        self.gpus = [f"gpu{n}" for n in range(gpus)]
        self.late = late
        self.set: list[Any] = []
        self.config = SimpleNamespace(
            list_physical_devices=lambda kind: self.gpus if kind == "GPU" else ["cpu0"],
            set_visible_devices=lambda devices, kind: self._take(("visible", devices, kind)),
            LogicalDeviceConfiguration=lambda memory_limit=None: memory_limit,
            set_logical_device_configuration=lambda device, pieces: self._take((device, pieces)),
            experimental=SimpleNamespace(set_memory_growth=lambda device, grow: self._take((device, grow))),
        )

    def _take(self, what: Any) -> None:
        if self.late:
            raise RuntimeError("cannot be modified after being initialized")
        self.set.append(what)


class FakeJax:
    def __init__(self, started: bool = False, platform: str = "gpu") -> None:
        self._src = SimpleNamespace(xla_bridge=SimpleNamespace(backends_are_initialized=lambda: started))
        self.config = SimpleNamespace(jax_num_cpu_devices=-1, update=lambda name, to: setattr(self.config, name, to))
        self.local_devices = lambda: [SimpleNamespace(platform=platform)]


class FakeTorch:
    __version__ = "2.13.0+cu130"

    def __init__(self, gpus: int = 1, started: bool = False) -> None:
        self.fractions: list[tuple[float, int]] = []
        self.cuda = SimpleNamespace(
            is_available=lambda: gpus > 0,
            device_count=lambda: gpus,
            is_initialized=lambda: started,
            get_device_properties=lambda n: SimpleNamespace(total_memory=100 * GIB),
            set_per_process_memory_fraction=lambda share, n: self.fractions.append((share, n)),
        )


def test_tensorflow_is_set_by_its_config() -> None:
    tf = FakeTensorFlow()
    framework = OnTensorFlow((CARD, CARD), tf=tf, environment={})
    request = Request(visible=(1,), limit_bytes=2 * GIB, logical=2)
    taken = [framework.take(step) for step in plan("tensorflow", request, framework.facts())]
    assert tf.set == [("visible", ["gpu1"], "GPU"), ("gpu1", [1024, 1024])]
    assert [str(change) for change in taken] == [
        "memory: GPUs used: 1 [stays: TensorFlow keeps it from its first operation on]",
        "memory: GPU:1 as 2 logical devices of 1.0 GiB [stays: TensorFlow keeps it from its first operation on]",
    ]


def test_tensorflow_that_has_started_is_too_late() -> None:
    framework = OnTensorFlow(tf=FakeTensorFlow(late=True), environment={})
    (step, _) = plan("tensorflow", Request(grow=True), framework.facts())
    with pytest.raises(TooLateError, match="memory growth on GPU:0: tensorflow is initialised already") as caught:
        framework.take(step)
    assert caught.value.framework == "tensorflow"


def test_a_variable_that_tensorflow_obeys_is_set_before_it_starts() -> None:
    def context(handle: Any) -> dict[str, Any]:
        module = SimpleNamespace(context_safe=lambda: SimpleNamespace(_context_handle=handle))
        return {"tensorflow.python.eager.context": module}

    environment = {"TF_FORCE_GPU_ALLOW_GROWTH": "false"}
    late = OnTensorFlow(tf=FakeTensorFlow(gpus=1), environment=environment, modules=context("started"))
    first, _ = plan("tensorflow", Request(grow=True), late.facts())
    assert isinstance(first, Step)
    with pytest.raises(TooLateError):
        late.take(first)
    OnTensorFlow(tf=FakeTensorFlow(gpus=1), environment=environment, modules=context(None)).take(first)
    assert environment == {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    assert "the environment said TF_FORCE_GPU_ALLOW_GROWTH=false" in first.why


def test_a_card_that_the_framework_does_not_see_is_told() -> None:
    assert "sees no GPU where NVML sees 1" in OnTensorFlow((CARD,), tf=FakeTensorFlow(gpus=0)).facts().why_none
    assert "sees no GPU where NVML sees 1" in OnTorch((CARD,), torch=FakeTorch(gpus=0)).facts().why_none
    assert OnJax((CARD,), jax=FakeJax(started=True, platform="cpu")).facts().why_none == "JAX runs on the CPU"


def test_jax_is_set_by_variables_and_options() -> None:
    environment = {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.9"}
    framework = OnJax((CARD,), jax=FakeJax(), environment=environment)
    for step in plan("jax", Request(grow=True, limit_bytes=25 * GIB), framework.facts()):
        framework.take(step)
    assert environment == {"XLA_CLIENT_MEM_FRACTION": "0.25", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def test_jax_that_has_started_takes_what_is_so_already() -> None:
    framework = OnJax((CARD,), jax=FakeJax(started=True), environment={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
    (step,) = plan("jax", Request(grow=True), framework.facts())
    assert framework.take(step).outcome == "not needed"
    same = Step(kind="option", name="jax_num_cpu_devices", value=-1, text="")
    assert framework.take(same).outcome == "not needed"
    with pytest.raises(TooLateError):
        framework.take(Step(kind="option", name="jax_num_cpu_devices", value=2, text="2 CPU devices"))
    (limit,) = plan("jax", Request(limit_bytes=GIB), framework.facts())
    with pytest.raises(TooLateError):
        framework.take(limit)


def test_a_share_of_pytorch_can_be_taken_back() -> None:
    torch = FakeTorch()
    framework = OnTorch((CARD,), torch=torch, environment={})
    (step,) = plan("torch", Request(limit_bytes=25 * GIB), framework.facts())
    change = framework.take(step)
    assert change.undo is not None
    change.undo()
    assert torch.fractions == [(0.25, 0), (1.0, 0)]


def test_tensorflow_is_kept_off_the_gpus_of_others() -> None:
    tf = FakeTensorFlow()
    (change,) = configure("jax", cards=lambda: ((CARD,), ""), modules={"tensorflow": tf})
    assert tf.set == [("visible", [], "GPU")]
    assert change.outcome == "done"
    (change,) = configure("torch", cards=lambda: ((), ""), modules={"tensorflow": FakeTensorFlow(late=True)})
    assert change.outcome == "not possible"
    assert configure("jax", cards=lambda: ((), ""), modules={"tensorflow": FakeTensorFlow(gpus=0)}) == ()


def test_nothing_asked_is_nothing_done() -> None:
    assert configure("jax", modules={}) == ()
    with pytest.raises(InvalidArgumentError, match="devices: memory"):
        configure("jax", memory="some", modules={})


def test_the_first_call_is_named_once_and_costs_nothing_after() -> None:
    def start() -> str:
        return "started"

    bridge = SimpleNamespace(backends=start)
    modules = {"jax._src.xla_bridge": bridge}
    watch_first_use(modules)
    watch_first_use(modules)
    assert too_late("jax", "growth", modules).first_call is None
    assert bridge.backends() == "started"
    assert bridge.backends is start
    error = too_late("jax", "growth", modules)
    assert isinstance(error.first_call, Location)
    assert error.first_call.file == __file__
    assert f"test_acting.py:{error.first_call.line}: call penstock.train.setup before that" in str(error)


def test_a_first_call_that_was_not_seen_says_how_it_can_be() -> None:
    assert "`import penstock.train` right after `import torch`" in str(too_late("torch", "growth", {}))
