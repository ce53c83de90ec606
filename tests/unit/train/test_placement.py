"""Where weights are to lie, from names and shapes alone."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.train import place
from penstock.train.placement.plan import Weight, axis_to_cut, contiguous_runs, plan_layers, plan_shards
from penstock.train.placement.torch_modules import moved

MODEL = [
    Weight("embedding", "embedding/table", (1000, 8), 4),
    *(
        Weight(f"block_{n}/{part}", f"block_{n}/{part}/{name}", shape, 4)
        for n in range(4)
        for part in ("attention", "mlp")
        for name, shape in (("kernel", (8, 100)), ("bias", (100,)))
    ),
    Weight("head", "head/kernel", (8, 3), 2),
]


def devices_of(rules: dict[str, Any], count: int = 2) -> dict[str, int | None]:
    plan = plan_layers(MODEL, rules, [f"gpu:{n}" for n in range(count)], "/")
    return {one.unit: one.device for one in plan.held}


def test_layers_go_where_they_are_told_and_runs_are_dealt_out() -> None:
    assert devices_of({"embedding*": 0, "block_*": "split", "head": 1}) == {
        "embedding": 0, "block_0": 1, "block_1": 1, "block_2": 1, "block_3": 1, "head": 1,
    }  # fmt: skip
    assert devices_of({"block_*": "split", "head": 1, "embedding": 2}, 3) == {
        "embedding": 2, "block_0": 0, "block_1": 0, "block_2": 1, "block_3": 1, "head": 1,
    }  # fmt: skip


def test_the_plan_says_what_each_device_holds_and_what_nobody_named() -> None:
    plan = plan_layers(MODEL, {"block_[01]": 0, "block_[23]/attention": 1, "block_[23]/mlp": 1}, ["a", "b"], "/")
    assert [plan.load(device) for device in (0, 1)] == [(11624, 46448), (3600, 14400)]
    assert str(plan).splitlines() == [
        "placement over 2 devices",
        "  a         11,624 parameters    45.4 KiB",
        "  b          3,600 parameters    14.1 KiB",
        "  no pattern names embedding, head: on a",
    ]


def test_shards_are_cut_along_the_last_axis_that_divides() -> None:
    plan = plan_shards(MODEL, {"embedding": "split", "block_*": "split", "head": "copy"}, ["a", "b", "c"], "/")
    axes = {one.weight.name: one.axis for one in plan.held if not one.weight.name.startswith("block")}
    assert axes == {"embedding/table": None, "head/kernel": None}
    assert plan.uncut[:2] == ("embedding/table", "block_0/attention/kernel")
    two = plan_shards(MODEL, {"embedding": "split", "block_*": "split"}, ["a", "b"], "/")
    assert two.load(0) == two.load(1) == ((8000 + 8 * 900) // 2 + 24, (8000 + 8 * 900) * 2 + 48)
    assert str(two).endswith("no pattern names head: copied to each device")


@pytest.mark.parametrize(
    ("shape", "parts", "axis"),
    [((8, 4), 2, 1), ((8, 3), 2, 0), ((3, 5), 2, None), ((6,), 3, 0), ((), 2, None), ((4, 0), 2, 0)],
)
def test_which_axis_is_cut(shape: tuple[int, ...], parts: int, axis: int | None) -> None:
    assert axis_to_cut(shape, parts) == axis


@pytest.mark.parametrize(
    ("sizes", "loads"),
    [([1, 1, 1, 1], [0, 0]), ([5, 1, 1, 1], [0, 0]), ([1, 2, 3, 4, 5], [4, 0, 0]), ([9], [0, 0]), ([1, 1], [9, 9])],
)
def test_runs_keep_the_fullest_device_as_empty_as_can_be(sizes: list[int], loads: list[int]) -> None:
    def fullest(runs: Any) -> int:
        return max(load + sum(s for s, at in zip(sizes, runs, strict=True) if at == n) for n, load in enumerate(loads))

    every = [runs for runs in product(range(len(loads)), repeat=len(sizes)) if list(runs) == sorted(runs)]
    found = contiguous_runs(sizes, loads)
    assert found == sorted(found)
    assert fullest(found) == min(map(fullest, every))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"blok_*": 0}, "no layer is named by 'blok_\\*'; expected one of embedding, block_0/attention"),
        ({"block_*": 0, "block_1": 1}, "two patterns name the layer 'block_1/attention'"),
        ({"block_*": 0, "block_1/mlp": 1}, "two patterns name the layer 'block_1/mlp'"),
        ({"head": 2}, "target of 'head'; got 2, expected a device from 0 to 1"),
        ({"head": True}, "got True"),
        ({"head": "first"}, "got 'first'"),
    ],
)
def test_patterns_and_targets_that_make_no_sense_are_refused(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        devices_of(rules)


def test_one_device_alone_is_not_possible_where_weights_are_cut() -> None:
    with pytest.raises(InvalidArgumentError, match='"split" or "copy"'):
        plan_shards(MODEL, {"head": 0}, ["a", "b"], "/")


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="not a model; got dict"):
        place({}, {"a": 0})
    with pytest.raises(InvalidArgumentError, match="rules"):
        place({}, {})


class Tensor(SimpleNamespace):
    device = "cpu"

    def to(self, device: str) -> Tensor:
        return self if device == self.device else Tensor(device=device)


def test_tensors_move_inside_of_what_they_lie_in() -> None:
    first, second = Tensor(), Tensor()
    result = moved({"a": (first, 3), "b": [second, None]}, "gpu:1")
    assert (result["a"][0].device, result["a"][1], result["b"][0].device) == ("gpu:1", 3, "gpu:1")
    assert moved((first,), "cpu")[0] is first
