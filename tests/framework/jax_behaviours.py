"""What JAX gets from `to_jax`, with two devices on the CPU; run by test_loops.py."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import ml_dtypes
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import penstock as ps
from penstock.adapters.jax import batches_ahead, to_jax
from penstock.errors import InvalidArgumentError, UnsupportedValueError
from tests.framework.fake_feed import FakeFeed, as_pair
from tests.framework.guides import run_guide
from tests.framework.recycling import OwnedPool, RingPool, feed, rows, wrong


def pipeline(**options: Any) -> ps.Dataset:
    images = np.arange(44, dtype=np.float32).reshape(22, 2)
    return ps.Dataset.from_tensor_slices({"z": images, "a": (np.arange(22), images > 5)}).shuffle().batch(4, **options)


def labels(batches: Any) -> list[list[int]]:
    return [batch["a"][0].tolist() for batch in batches]


def test_batches_are_those_of_the_dataset_as_arrays_in_their_nest() -> None:
    for ours, theirs in zip(pipeline().to_jax(), pipeline(), strict=True):
        assert list(ours) == ["z", "a"]  # a nest of JAX's own would come back sorted
        assert isinstance(ours["a"], tuple)
        pairs = zip((ours["z"], *ours["a"]), (theirs["z"], *theirs["a"]), strict=True)
        assert all(isinstance(array, jax.Array) and np.array_equal(array, other) for array, other in pairs)


def test_no_batch_is_copied() -> None:
    made: list[int] = []

    def make(ids: np.ndarray, pool: Any) -> Any:
        batch = as_pair(ids, pool)
        made.extend(leaf.ctypes.data for leaf in batch)
        return batch

    given = [leaf.unsafe_buffer_pointer() for batch in to_jax(FakeFeed(make=make)) for leaf in batch]
    assert given == made


def read_only(ids: np.ndarray, pool: Any) -> Any:
    array = rows(ids, pool)
    array.flags.writeable = False
    return array


def unaligned(ids: np.ndarray, pool: Any) -> Any:
    array = np.empty(ids.size * 256 + 1, np.float32)[1:].reshape(ids.size, 256)
    array[...] = ids[:, None]
    return array


@pytest.mark.parametrize("make", [read_only, unaligned])
def test_read_only_and_unaligned_arrays_are_taken(make: Any) -> None:
    addresses = []

    def noted(ids: np.ndarray, pool: Any) -> Any:
        array = make(ids, pool)
        addresses.append(array.ctypes.data)
        return array

    held = list(to_jax(FakeFeed(samples=24, make=noted)))
    assert wrong(held) == 0
    assert [array.unsafe_buffer_pointer() for array in held] == addresses or make is unaligned


@pytest.mark.parametrize("dtype", "bool uint8 int8 uint16 int32 float16 float32 complex64 bfloat16".split())
def test_each_dtype_keeps_its_values(dtype: str) -> None:
    kind = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    array = np.array([[0, 1], [1, 0]]).astype(kind)
    given = next(iter(ps.Dataset.from_tensors(array).to_jax()))
    assert (given.dtype, given.tolist()) == (kind, array.tolist())


@pytest.mark.parametrize(
    "dataset",
    [
        ps.Dataset.from_tensor_slices(["a", "b"]).batch(2),
        ps.Dataset.from_tensor_slices(["a", "b"]),
        ps.Dataset.range(4).map(lambda n: np.arange(n), compile=False).ragged_batch(2),
    ],
)
def test_text_and_ragged_rows_are_refused(dataset: ps.Dataset) -> None:
    with pytest.raises(UnsupportedValueError, match="JAX has no"):
        next(iter(dataset.to_jax()))


def test_a_dtype_that_jax_lacks_is_refused() -> None:
    feed = FakeFeed(make=lambda ids, pool: ids.astype("M8[D]"))
    with pytest.raises(UnsupportedValueError, match=r"datetime64\[D\]"):
        next(iter(to_jax(feed)))


@pytest.mark.parametrize(("platforms", "ahead"), [(["cpu"], 0), (["cpu"] * 8, 0), (["gpu"], 3), (["tpu"] * 4, 3)])
def test_batches_are_put_ahead_on_accelerators(platforms: list[str], ahead: int) -> None:
    assert batches_ahead(platforms, 3) == ahead


def halves() -> NamedSharding:
    return NamedSharding(Mesh(np.array(jax.devices()), ("rows",)), PartitionSpec("rows"))


@pytest.mark.parametrize("sharding", [jax.devices(), halves()])
def test_devices_share_the_rows_of_a_batch(sharding: Any) -> None:
    dataset = pipeline(drop_remainder=True)
    for ours, theirs in zip(dataset.to_jax(sharding), dataset.iterator(0), strict=True):
        parts = sorted(ours["z"].addressable_shards, key=lambda shard: shard.device.id)
        assert [np.asarray(part.data).tolist() for part in parts] == [
            theirs["z"][:2].tolist(),
            theirs["z"][2:].tolist(),
        ]


def test_one_device_is_taken() -> None:
    device = jax.devices()[1]
    assert next(iter(pipeline().to_jax(device)))["z"].devices() == {device}


def test_a_batch_that_the_devices_do_not_divide_is_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidArgumentError, match="3 rows, expected a multiple of 2"):
        ps.Dataset.range(7).batch(4).to_jax(jax.devices())
    of_unknown_length = ps.Dataset.range(7).filter(lambda number: number >= 0).batch(4)
    batches = iter(of_unknown_length.to_jax(jax.devices()))
    next(batches)
    with pytest.raises(InvalidArgumentError, match="does not divide") as caught:
        next(batches)
    assert "(3,)" in str(caught.value.got)
    assert "drop_remainder" in str(caught.value.remedy)
    (padded, _), weighed = deque(ps.Dataset.range(7).batch(4, remainder="pad").to_jax(jax.devices()), maxlen=2)[1], 0
    assert (padded.shape, weighed) == ((4,), 0)


@pytest.mark.parametrize("sharding", ["cpu", 2, [], ["cpu"]])
def test_what_is_no_sharding_is_refused_at_once(sharding: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="to_jax: sharding"):
        pipeline().to_jax(sharding)


def test_a_state_goes_on() -> None:
    data = pipeline().to_jax()
    batches = iter(data)
    next(batches)
    again = pipeline().to_jax()
    again.load_state_dict(data.state_dict())
    assert labels(again) == labels(batches)


def test_recycling_by_turn_is_seen_to_corrupt_and_by_ownership_is_right() -> None:
    assert wrong(list(to_jax(feed(RingPool(8))))) == 40 - 8
    assert wrong(list(to_jax(feed(OwnedPool())))) == 0


def test_the_engine_s_pool_recycles_what_jax_lets_go_and_nothing_that_it_reads() -> None:
    pool = OwnedPool()
    mean = jax.jit(lambda rows: (rows @ rows.T).mean() * 0 + rows[0, 0])
    results = [mean(batch) for batch in to_jax(feed(pool, batches=150))]  # runs ahead: nothing waits for a result
    assert [float(result) for result in results] == [4.0 * number for number in range(150)]
    assert len(pool.addresses) < 100


def test_the_guide_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    run_guide("jax.md")
    assert len(capsys.readouterr().out.splitlines()) == 2
