"""What `to_tf` gives TensorFlow; run by test_keras.py in the process of that backend."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import penstock as ps
from penstock.adapters.tensorflow import to_tf
from penstock.block.spec import Spec
from penstock.errors import InvalidArgumentError, UnknownLengthError
from tests.framework.fake_feed import PAIR_SPEC, ROW, FakeFeed, as_pair
from tests.framework.guides import run_guide
from tests.framework.recycling import RingPool

HOST = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(HOST, [tf.config.LogicalDeviceConfiguration()] * 2)


def noting(addresses: list[int]) -> Any:
    def make(ids: np.ndarray, pool: Any) -> Any:
        batch = as_pair(ids, pool)
        addresses.extend(address(leaf) for leaf in batch)
        return batch

    return make


def address(array: Any) -> int:
    return int(np.asarray(array).__array_interface__["data"][0])


def ids(batches: Any) -> list[int]:
    return [int(number) for _, targets in batches for number in targets.numpy()]


def test_tensors_alias_the_arrays() -> None:
    made: list[int] = []
    kept = list(to_tf(FakeFeed(make=noting(made))))
    assert [address(leaf) for batch in kept for leaf in batch] == made
    assert ids(kept) == list(range(22))


def test_tensors_that_are_kept_would_be_torn_if_buffers_took_turns() -> None:
    torn = ids(list(to_tf(FakeFeed(pool=RingPool(2)))))
    assert torn[:8] == [16, 17, 18, 19, 12, 13, 14, 15]


def test_arrays_that_must_not_be_aliased_are_copied() -> None:
    values = np.arange(64 * ROW, dtype=np.float32).reshape(64, ROW)
    unaligned = np.empty(values.size + 1, np.float32)[1:].reshape(values.shape)
    assert address(unaligned) % 64
    read_only, strided = values.copy(), np.repeat(values, 2, axis=1)[:, ::2]
    unaligned[...] = values
    read_only.flags.writeable = False
    given = (unaligned, read_only, strided)

    def make(numbers: np.ndarray, pool: Any) -> Any:
        return given

    feed = FakeFeed(make=make, cardinality=1, samples=4, element_spec=(Spec((None, ROW), "float32"),) * 3)
    (batch,) = to_tf(feed)
    for array, tensor in zip(given, batch, strict=True):
        assert np.array_equal(array, tensor)
        assert tf.reduce_sum(tensor) == values.sum()  # an unaligned one would abort the process here
        assert address(tensor) % 64 == 0
        assert address(tensor) != address(array)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "uint32", "int64", "float16", "float64", "complex64"])
def test_each_dtype_is_taken(dtype: str) -> None:
    dataset = ps.Dataset.from_tensor_slices(np.arange(96).reshape(6, 16).astype(dtype)).batch(4)
    given = list(dataset.to_tf())
    assert [tensor.dtype.name for tensor in given] == [dtype] * 2
    assert np.array_equal(np.concatenate(given), np.concatenate(list(dataset)))


def test_elements_that_are_no_batches_are_taken() -> None:
    dataset = ps.Dataset.from_tensor_slices({"number": [1, 2], "text": ["a", "é"], "row": np.eye(2)})
    first, second = dataset.to_tf()
    assert (int(first["number"]), second["text"].numpy().decode(), first["row"].numpy().tolist()) == (1, "é", [1, 0])


def test_ragged_and_text_are_tensorflows_own() -> None:
    dataset = ps.Dataset.range(4).map(lambda n: (np.arange(n), str(n))).ragged_batch(4)
    ((ragged, text),) = dataset.to_tf()
    assert ragged.to_list() == [[], [0], [0, 1], [0, 1, 2]]
    assert text.numpy().tolist() == [b"0", b"1", b"2", b"3"]


def test_each_iteration_is_the_next_epoch() -> None:
    batches = ps.Dataset.range(40).shuffle().batch(16).to_tf()
    first, second = ([tensor.numpy().tolist() for tensor in batches] for _ in range(2))
    assert (len(batches), batches.epoch, first != second) == (3, 2, True)
    with pytest.raises(UnknownLengthError):
        len(ps.Dataset.range(4).repeat().batch(2).to_tf())


def test_batches_are_copied_to_the_device_ahead() -> None:
    made: list[int] = []
    feed = FakeFeed(make=noting(made))
    with to_tf(feed, device="/CPU:1") as batches:
        kept = list(batches)
    assert ids(kept) == list(range(22))
    assert {leaf.device.rpartition("device:")[2] for batch in kept for leaf in batch} == {"CPU:1"}
    assert feed.live == 0


def test_text_stays_on_the_host() -> None:
    ((text, number),) = ps.Dataset.from_tensor_slices((["a"], [1.0])).batch(1).to_tf("cpu:1")
    assert (text.numpy().tolist(), number.device[-5:]) == ([b"a"], "CPU:1")


@pytest.mark.parametrize("device", ["/GPU:0", "CPU:2", "nonsense"])
@pytest.mark.parametrize("as_dataset", [False, True])
def test_a_device_that_is_not_there_is_refused(device: str, as_dataset: bool) -> None:
    with pytest.raises(InvalidArgumentError, match=r"to_tf: device.*CPU:0.*CPU:1"):
        to_tf(FakeFeed(), device, as_dataset)


@pytest.mark.parametrize(("cardinality", "told"), [(6, 6), (-2, -2), (-1, -1)])
def test_a_tf_dataset_has_signature_and_cardinality(cardinality: int, told: int) -> None:
    feed = FakeFeed(cardinality=cardinality)
    dataset = to_tf(feed, as_dataset=True)
    assert isinstance(dataset, tf.data.Dataset)
    assert dataset.element_spec == (tf.TensorSpec((None, ROW)), tf.TensorSpec((None,)))
    assert int(dataset.cardinality()) == told
    assert ids(dataset.take(6)) == list(range(22))
    del dataset
    gc.collect()
    assert feed.live == 0


def test_a_tf_dataset_aliases_and_goes_through_a_graph() -> None:
    made: list[int] = []
    feed = FakeFeed(make=noting(made))
    dataset = to_tf(feed, as_dataset=True)
    kept = list(dataset)
    assert [address(leaf) for batch in kept for leaf in batch] == made
    total = tf.function(lambda: dataset.reduce(0.0, lambda so_far, pair: so_far + tf.reduce_sum(pair[1])))()
    assert (float(total), feed.opened) == (231.0, [0, 1])


def test_a_tf_dataset_is_copied_to_the_device() -> None:
    kept = list(to_tf(FakeFeed(), device="/CPU:1", as_dataset=True))
    assert ids(kept) == list(range(22))
    assert kept[0][0].device.endswith("CPU:1")


def test_the_spec_is_that_of_the_batches() -> None:
    assert to_tf(FakeFeed()).element_spec == PAIR_SPEC


def test_a_state_is_gone_on_with() -> None:
    batches = ps.Dataset.range(10).shuffle().batch(4).to_tf("/CPU:1")
    reading = iter(batches)
    next(reading)
    again = ps.Dataset.range(10).shuffle().batch(4).to_tf()
    again.load_state_dict(batches.state_dict())
    assert [tensor.numpy().tolist() for tensor in again] == [tensor.numpy().tolist() for tensor in reading]


def test_the_guide_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    run_guide("tensorflow.md")
    assert capsys.readouterr().out == "0 10\n1 10\n"
