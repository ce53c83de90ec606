from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.buffers import ALIGNMENT, BufferPool, size_class

F32 = np.dtype(np.float32)


def _address(array: Any) -> int:
    address: int = array.ctypes.data
    return address


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=3).map(tuple), min_size=1, max_size=4),
    st.sampled_from(["uint8", "float32", "int64", "bool", "float16", "complex128"]),
)
def test_arrays_are_aligned_writable_and_apart(shapes: list[tuple[int, ...]], dtype: str) -> None:
    arrays = BufferPool().arrays(tuple(shapes), np.dtype(dtype))
    for number, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
        assert array.shape == shape
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert _address(array) % ALIGNMENT == 0 or array.size == 0
        array[...] = number
    for number, array in enumerate(arrays):
        assert (array == np.array(number).astype(dtype)).all()


@pytest.mark.parametrize("dtype", ["U", "S", object])
def test_array_of_text_holds_objects(dtype: Any) -> None:
    array = BufferPool().array((2, 3), np.dtype(dtype))
    assert array.dtype == object
    assert array.shape == (2, 3)


def test_memory_is_used_again_after_its_array_died() -> None:
    pool = BufferPool()
    first = pool.array((100,), F32)
    address = _address(first)
    del first
    assert _address(pool.array((100,), F32)) == address


def test_memory_is_not_used_again_while_a_view_lives() -> None:
    pool = BufferPool()
    first = pool.array((100,), F32)
    view = first[10:20].reshape(2, 5).T
    view[...] = 7
    del first
    second = pool.array((100,), F32)
    second[...] = 0
    assert not np.shares_memory(view, second)
    assert (view == 7).all()


def test_memory_is_used_again_when_the_last_of_several_died() -> None:
    pool = BufferPool()
    left, right = pool.arrays(((16,), (16,)), F32)
    address = _address(left)
    del left
    assert _address(pool.array((32,), F32)) != address
    del right
    assert _address(pool.array((32,), F32)) == address


def test_memory_serves_another_shape_and_dtype_of_its_class() -> None:
    pool = BufferPool()
    first = pool.array((64,), F32)
    address = _address(first)
    del first
    assert _address(pool.array((2, 16), np.dtype(np.int64))) == address


def test_memory_held_through_a_buffer_or_dlpack_stays() -> None:
    pool = BufferPool()
    array = pool.array((16,), F32)
    array[...] = 3
    held, shared = memoryview(array), np.from_dlpack(array)
    del array
    other = pool.array((16,), F32)
    other[...] = 0
    assert held[0] == 3
    assert shared[0] == 3


def test_pool_keeps_no_more_than_its_bound() -> None:
    pool = BufferPool(kept_bytes=1000)
    arrays = [pool.array((400,), np.dtype(np.uint8)) for _ in range(5)]
    first = {_address(array) for array in arrays}
    del arrays
    gc.collect()
    assert pool._free_bytes <= 1000
    assert first


def test_pool_takes_memory_back_from_any_thread() -> None:
    pool = BufferPool()
    holder = [pool.array((100,), F32)]
    address = _address(holder[0])
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    assert _address(pool.array((100,), F32)) == address


def test_array_outlives_its_pool() -> None:
    array = BufferPool().array((100,), F32)
    gc.collect()
    array[...] = 1
    assert array.sum() == 100


@given(st.integers(0, 2**34))
def test_size_class_holds_the_size_and_wastes_little(size: int) -> None:
    chosen = size_class(size)
    assert size <= chosen <= size + max(ALIGNMENT, size // 4)
    assert chosen % ALIGNMENT == 0


@given(st.integers(0, 2**34))
def test_size_class_of_a_class_is_itself(size: int) -> None:
    assert size_class(size_class(size)) == size_class(size)


@given(st.integers(0, 2**20), st.integers(0, 2**20))
def test_size_class_grows_with_the_size(left: int, right: int) -> None:
    assert size_class(min(left, right)) <= size_class(max(left, right))
