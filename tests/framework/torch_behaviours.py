"""What PyTorch gets from `to_torch`; run by test_loops.py."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset

import penstock as ps
from penstock.adapters.delivery import Delivery
from penstock.adapters.torch import CopyAhead, as_tensor, to_torch
from penstock.errors import InvalidArgumentError, UnsupportedValueError
from tests.framework.fake_cuda import CopierToCpu
from tests.framework.fake_feed import FakeFeed, as_pair
from tests.framework.guides import run_guide
from tests.framework.recycling import OwnedPool, RingPool, feed, wrong


def pipeline() -> ps.Dataset:
    images = np.arange(40, dtype=np.float32).reshape(20, 2)
    return ps.Dataset.from_tensor_slices({"image": images, "meta": (np.arange(20), images > 5)}).shuffle().batch(4)


def labels(batches: Any) -> list[list[int]]:
    return [batch["meta"][0].tolist() for batch in batches]


def test_batches_are_those_of_the_dataset_as_tensors_in_their_nest() -> None:
    for ours, theirs in zip(pipeline().to_torch(), pipeline(), strict=True):
        assert list(ours) == ["image", "meta"]
        assert isinstance(ours["meta"], tuple)
        pairs = zip((ours["image"], *ours["meta"]), (theirs["image"], *theirs["meta"]), strict=True)
        assert all(np.array_equal(tensor.numpy(), array) for tensor, array in pairs)
        assert (ours["image"].dtype, ours["meta"][0].dtype) == (torch.float32, torch.int64)
        assert ours["meta"][1].dtype == torch.bool


def test_no_batch_is_copied() -> None:
    made: list[int] = []

    def make(ids: np.ndarray, pool: Any) -> Any:
        batch = as_pair(ids, pool)
        made.extend(leaf.ctypes.data for leaf in batch)
        return batch

    given = [leaf.data_ptr() for batch in to_torch(FakeFeed(make=make)) for leaf in batch]
    assert given == made


@pytest.mark.parametrize(
    "dtype",
    "bool uint8 int8 uint16 int16 int32 int64 float16 float32 float64 complex64 bfloat16 float8_e4m3fn".split(),
)
def test_each_dtype_keeps_its_values_and_memory(dtype: str) -> None:
    kind = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    array = np.array([[0, 1], [1, 0]]).astype(kind)
    tensor = as_tensor(array)
    assert tensor.dtype == getattr(torch, dtype)
    assert tensor.data_ptr() == array.ctypes.data
    assert tensor.to(torch.complex64).real.tolist() == [[0, 1], [1, 0]]


def test_unaligned_memory_is_aliased_and_read_only_memory_is_not() -> None:
    unaligned = np.frombuffer(bytearray(41), np.float32, offset=1, count=10)
    assert as_tensor(unaligned).data_ptr() == unaligned.ctypes.data
    readonly = np.arange(10.0)
    readonly.flags.writeable = False
    tensor = as_tensor(readonly)
    tensor += 1
    assert readonly.tolist() == list(range(10))


@pytest.mark.parametrize("array", [np.arange(6.0)[::-1], np.arange(6, dtype=">f4"), np.arange(12.0).reshape(3, 4).T])
def test_any_layout_is_taken(array: np.ndarray) -> None:
    assert as_tensor(array).tolist() == array.tolist()


@pytest.mark.parametrize("value", [np.float32(3), np.array(3.0, np.float32), 3.0])
def test_single_values_are_taken(value: Any) -> None:
    assert as_tensor(value).item() == 3.0


@pytest.mark.parametrize(
    "dataset",
    [
        ps.Dataset.from_tensor_slices(["a", "b"]).batch(2),
        ps.Dataset.from_tensor_slices(["a", "b"]),
        ps.Dataset.from_tensor_slices(np.array(["2020-01-01", "2020-01-02"], "M8[D]").view("S8")).batch(2),
    ],
)
def test_text_is_refused(dataset: ps.Dataset) -> None:
    with pytest.raises(UnsupportedValueError, match="text"):
        next(iter(dataset.to_torch()))


def test_a_dtype_that_torch_lacks_is_refused() -> None:
    with pytest.raises(UnsupportedValueError, match="dtype") as caught:
        as_tensor(np.array(["2020-01-01"], "M8[D]"))
    assert "datetime64[D]" in str(caught.value.got)


def test_it_is_an_iterable_dataset_with_a_length() -> None:
    data = pipeline().to_torch()
    assert isinstance(data, IterableDataset)
    assert len(data) == len(DataLoader(data, batch_size=None)) == 5
    with pytest.raises(TypeError, match="unknown"):
        len(pipeline().filter(lambda batch: True).to_torch())


def test_a_data_loader_without_workers_passes_batches_on() -> None:
    loader = DataLoader(pipeline().to_torch(), batch_size=None)
    assert [labels(loader) for _ in range(2)] == [labels(pipeline().iterator(epoch)) for epoch in range(2)]


def test_a_data_loader_with_workers_is_told_what_to_do() -> None:
    loader = DataLoader(FakeTensors(to_torch(FakeFeed())), batch_size=None, num_workers=1)
    with pytest.raises(InvalidArgumentError, match=r"num_workers=0") as caught:
        next(iter(loader))
    assert "worker process" in str(caught.value)


class FakeTensors(IterableDataset[Any]):
    """Around a dataset, as users write it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        return iter(self.inner)


def test_it_does_not_travel_to_another_process() -> None:
    with pytest.raises(InvalidArgumentError, match="num_workers=0"):
        pickle.dumps(pipeline().to_torch())


def test_the_state_of_torchdata_s_loader_goes_on_at_every_step() -> None:
    loader_kind = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    loader = loader_kind(pipeline().to_torch(), batch_size=None, num_workers=0)
    whole, states = [], []
    for batch in loader:
        whole.append(batch["meta"][0].tolist())
        states.append(loader.state_dict())
    states.append(loader.state_dict())
    second = labels(loader)
    for received, state in enumerate(states, 1):
        again = loader_kind(pipeline().to_torch(), batch_size=None, num_workers=0)
        again.load_state_dict(state)
        assert (labels(again) if received <= 5 else whole[5:]) == whole[received:]
        assert labels(again) == second


def test_other_devices_get_their_tensors() -> None:
    image = next(iter(pipeline().to_torch(device="meta")))["image"]
    assert (image.device.type, image.shape) == ("meta", (4, 2))


@pytest.mark.parametrize("device", ["cuda", "nonsense", 1.5])
def test_a_device_that_is_not_here_is_refused_at_once(device: Any) -> None:
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("it is here")
    with pytest.raises(InvalidArgumentError, match="to_torch: device"):
        pipeline().to_torch(device=device)


@pytest.mark.parametrize("prefetch", [-1, 1.5, None])
def test_a_bad_prefetch_is_refused_at_once(prefetch: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="to_torch: prefetch"):
        pipeline().to_torch(prefetch=prefetch)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_page_locking_without_a_gpu_is_told_and_left() -> None:
    with pytest.warns(UserWarning, match="not page-locked") as warned:
        data = pipeline().to_torch(pin_memory=True)
    assert warned[0].filename == __file__
    assert len(list(data)) == 5


@pytest.mark.parametrize("is_locked", [True, False])
def test_the_copier_stages_copies_and_hands_over(monkeypatch: pytest.MonkeyPatch, is_locked: bool) -> None:
    copier = CopierToCpu(monkeypatch)
    data = Delivery(FakeFeed(), CopyAhead(copier, ahead=1, is_locked=is_locked))
    ids: list[float] = []
    for inputs, targets in data:
        assert torch.equal(inputs[:, 0], targets)
        ids += targets.clone().tolist()
    assert ids == list(range(22))
    assert [note for note in copier.cuda.notes if note != "current waits"] == [
        "on side",
        "on side",
        "record on side",
    ] * 6
    assert copier.cuda.notes.count("current waits") == 6
    assert copier.used == ["current"] * 12
    data.close()


def test_recycling_by_turn_is_seen_to_corrupt_and_by_ownership_is_right() -> None:
    assert wrong(list(to_torch(feed(RingPool(8))))) == 40 - 8
    assert wrong(list(to_torch(feed(OwnedPool())))) == 0


def test_the_engine_s_pool_recycles_what_is_let_go_and_nothing_that_is_held() -> None:
    pool = OwnedPool()
    held: deque[Any] = deque(maxlen=6)
    for number, batch in enumerate(to_torch(feed(pool, batches=100))):
        held.append(batch)
        assert len({tensor.data_ptr() for tensor in held}) == min(number + 1, 6)
        assert held[0][0, 0] == 4 * max(0, number - 5)
    assert len(pool.addresses) <= 6 + 6  # held; waiting, being made, and on the way


def test_a_dataset_s_buffers_are_recycled_and_none_that_is_held() -> None:
    zeros = np.zeros(8192, np.float32)
    dataset = ps.Dataset.from_tensor_slices(np.arange(2400, dtype=np.float32)).map(lambda n: n + zeros).batch(16)
    held, addresses = deque[Any](maxlen=6), set()
    for number, batch in enumerate(dataset.to_torch()):
        held.append(batch)
        addresses.add(batch.data_ptr())
        assert len({tensor.data_ptr() for tensor in held}) == len(held)
        first = 16 * max(0, number - 5)
        assert held[0][:, -1].tolist() == list(range(first, first + 16))
    assert len(addresses) < number + 1 == 150


def test_the_guide_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    run_guide("pytorch.md")
    assert len(capsys.readouterr().out.splitlines()) == 2
