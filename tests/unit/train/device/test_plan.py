"""What is set for which framework, from facts alone."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.train.backend import BACKENDS, Backend
from penstock.train.device.plan import plan
from penstock.train.device.request import Request, parse_request
from penstock.train.device.steps import Facts, Gpu, Step
from penstock.train.runtime import Change

GIB = 2**30
BIG, SMALL = Gpu(name="H200", total_bytes=100 * GIB), Gpu(name="L4", total_bytes=20 * GIB)
OLDER, SHARE = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
HALVES = (GIB // 2,) * 2
NO_GPU = Facts(why_none="no NVIDIA telemetry: Driver Not Loaded")


def steps(backend: Backend, request: Request, facts: Facts) -> list[tuple[str, str, Any]]:
    return [(each.kind, each.name, each.value) for each in plan(backend, request, facts) if isinstance(each, Step)]


def changes(backend: Backend, request: Request, facts: Facts) -> list[str]:
    return [str(each) for each in plan(backend, request, facts) if isinstance(each, Change)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, Request()),
        ({"memory": "growth"}, Request(grow=True)),
        ({"memory": 4 * GIB}, Request(limit_bytes=4 * GIB)),
        ({"memory": "4GiB", "visible": [1, 0]}, Request(limit_bytes=4 * GIB, visible=(1, 0))),
        ({"memory": ("growth", "1.5 g")}, Request(grow=True, limit_bytes=1_500_000_000)),
        ({"visible": [], "logical": 2}, Request(visible=(), logical=2)),
    ],
)
def test_a_request_is_read(arguments: dict[str, Any], expected: Request) -> None:
    assert parse_request(**arguments) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"memory": "grow"}, {"memory": 0}, {"memory": -5}, {"memory": "12 kB"}, {"memory": True}, {"memory": 0.5},
        {"visible": 0}, {"visible": "01"}, {"visible": [0, 0]}, {"visible": [-1]}, {"visible": ["0"]},
        {"logical": 0}, {"logical": True},
    ],
)  # fmt: skip
def test_a_request_that_means_nothing_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"devices: {next(iter(arguments))}"):
        parse_request(**arguments)


@pytest.mark.parametrize(
    ("backend", "request_", "facts", "expected"),
    [
        ("tensorflow", Request(grow=True), Facts(gpus=(BIG,) * 2), [("growth", f"GPU:{n}", True) for n in (0, 1)]),
        (
            "tensorflow", Request(grow=True, visible=(1,)), Facts(gpus=(BIG, BIG)),
            [("visible", "GPU", (1,)), ("growth", "GPU:1", True)],
        ),
        ("tensorflow", Request(limit_bytes=GIB), Facts(gpus=(Gpu(),)), [("logical", "GPU:0", (GIB,))]),
        ("tensorflow", Request(limit_bytes=GIB, logical=2), Facts(gpus=(BIG,)), [("logical", "GPU:0", HALVES)]),
        ("tensorflow", Request(logical=3), Facts(gpus=(BIG,)), [("logical", "GPU:0", (30 * GIB,) * 3)]),
        ("tensorflow", Request(logical=2), NO_GPU, [("logical", "CPU:0", (None, None))]),
        (
            "tensorflow", Request(visible=(), logical=2), Facts(gpus=(BIG,)),
            [("visible", "GPU", ()), ("logical", "CPU:0", (None, None))],
        ),
        (
            "tensorflow", Request(grow=True), Facts(gpus=(BIG,), environment={"TF_FORCE_GPU_ALLOW_GROWTH": "false"}),
            [("environment", "TF_FORCE_GPU_ALLOW_GROWTH", "true"), ("growth", "GPU:0", True)],
        ),
        ("jax", Request(grow=True), Facts(gpus=(BIG,)), [("environment", "XLA_PYTHON_CLIENT_PREALLOCATE", "false")]),
        ("jax", Request(limit_bytes=25 * GIB), Facts(gpus=(BIG,)), [("environment", SHARE, "0.25")]),
        (
            "jax", Request(limit_bytes=25 * GIB), Facts(gpus=(BIG,), environment={OLDER: ".5"}),
            [("environment", OLDER, None), ("environment", SHARE, "0.25")],
        ),
        (
            "jax", Request(grow=True, limit_bytes=10 * GIB, visible=(1,)), Facts(gpus=(BIG, SMALL)),
            [
                ("option", "jax_cuda_visible_devices", "1"), ("environment", "XLA_PYTHON_CLIENT_PREALLOCATE", "false"),
                ("environment", SHARE, "0.5"),
            ],
        ),
        ("jax", Request(visible=()), Facts(gpus=(BIG,)), [("option", "jax_platforms", "cpu")]),
        ("jax", Request(logical=4), NO_GPU, [("option", "jax_num_cpu_devices", 4)]),
        (
            "torch", Request(grow=True), Facts(gpus=(BIG,), version=(2, 13)),
            [("environment", "PYTORCH_ALLOC_CONF", "expandable_segments:True")],
        ),
        (
            "torch", Request(grow=True), Facts(gpus=(BIG,), version=(2, 8)),
            [("environment", "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")],
        ),
        (
            "torch", Request(grow=True),
            Facts(gpus=(BIG,), version=(2, 13), environment={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}),
            [("environment", "PYTORCH_ALLOC_CONF", "max_split_size_mb:64,expandable_segments:True")],
        ),
        (
            "torch", Request(limit_bytes=GIB, visible=(2, 0)),
            Facts(gpus=(BIG,) * 3, environment={"CUDA_VISIBLE_DEVICES": "GPU-a,5,7"}),
            [
                ("environment", "CUDA_VISIBLE_DEVICES", "7,GPU-a"), ("fraction", "cuda:0", GIB),
                ("fraction", "cuda:1", GIB),
            ],
        ),
        ("torch", Request(visible=()), Facts(gpus=(BIG,)), [("environment", "CUDA_VISIBLE_DEVICES", "")]),
    ],
)  # fmt: skip
def test_steps(backend: Backend, request_: Request, facts: Facts, expected: list[tuple[str, str, Any]]) -> None:
    assert steps(backend, request_, facts) == expected
    assert changes(backend, request_, facts) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_a_gpu_one_line_says_so(backend: Backend) -> None:
    request = Request(grow=backend != "tensorflow", limit_bytes=GIB, visible=(0,))
    (line,) = changes(backend, request, NO_GPU)
    assert line.startswith("memory: ")
    assert line.endswith("device 0 only: not needed (no NVIDIA telemetry: Driver Not Loaded)")
    assert steps(backend, request, NO_GPU) == []
    assert changes(backend, Request(visible=()), NO_GPU) == []


@pytest.mark.parametrize("request_", [Request(grow=True, limit_bytes=GIB), Request(grow=True, logical=2)])
def test_growth_and_a_limit_exclude_each_other_on_tensorflow(request_: Request) -> None:
    for facts in (NO_GPU, Facts(gpus=(BIG,))):
        with pytest.raises(InvalidArgumentError, match="not both; got memory growth"):
            plan("tensorflow", request_, facts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_device_that_is_not_there_is_refused_with_those_that_are(backend: Backend) -> None:
    with pytest.raises(InvalidArgumentError, match=r"got 0, 2, expected numbers below 2: 0 \(H200\), 1 \(L4\)"):
        plan(backend, Request(visible=(0, 2)), Facts(gpus=(BIG, SMALL)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_limit_beyond_a_device_is_refused(backend: Backend) -> None:
    with pytest.raises(InvalidArgumentError, match=r"got 30.0 GiB, expected at most the 20.0 GiB of device 1 \(L4\)"):
        plan(backend, Request(limit_bytes=30 * GIB), Facts(gpus=(BIG, SMALL)))


def test_a_limit_too_small_to_divide_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="expected 1 MiB at least for each"):
        plan("tensorflow", Request(limit_bytes=2**20, logical=2), Facts(gpus=(BIG,)))


def test_a_share_of_what_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="nvidia-ml-py is not installed"):
        plan("jax", Request(limit_bytes=GIB), Facts(gpus=(Gpu(),), why_none="nvidia-ml-py is not installed"))
    with pytest.raises(InvalidArgumentError, match=r'setup\(memory="8 GiB", logical=2\)'):
        plan("tensorflow", Request(logical=2), Facts(gpus=(Gpu(),)))


@pytest.mark.parametrize(
    ("backend", "line"),
    [
        ("jax", "memory: 2 logical devices: not possible (JAX divides its CPU alone, with visible=[])"),
        ("torch", "memory: 2 logical devices: not possible (PyTorch has none; start processes instead)"),
    ],
)
def test_logical_devices_that_do_not_exist_are_told(backend: Backend, line: str) -> None:
    assert changes(backend, Request(logical=2), Facts(gpus=(BIG,))) == [line]


def test_what_the_environment_said_otherwise_is_told() -> None:
    facts = Facts(gpus=(BIG,), environment={"XLA_PYTHON_CLIENT_PREALLOCATE": "true"})
    (step,) = plan("jax", Request(grow=True), facts)
    assert step.why == "XLA_PYTHON_CLIENT_PREALLOCATE=false; the environment said XLA_PYTHON_CLIENT_PREALLOCATE=true"
    facts = Facts(gpus=(BIG,), version=(2, 13), environment={"PYTORCH_ALLOC_CONF": "expandable_segments:False"})
    assert changes("torch", Request(grow=True), facts) == [
        "memory: expandable segments: not needed (the environment says expandable_segments:False)"
    ]


def test_devices_of_two_sizes_share_one_fraction() -> None:
    (step,) = plan("jax", Request(limit_bytes=10 * GIB), Facts(gpus=(BIG, SMALL)))
    assert step.value == "0.1"
    assert "2.0 GiB on the smallest device" in step.why
