"""Files and codecs as ops."""

import pathlib

import numpy as np
import pytest

from penstock import io
from penstock.errors import DecodeError, InvalidArgumentError, ReadError
from tests.unit.kernels.photos import encode, photo


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "numbers.bin"
    path.write_bytes(bytes(range(100)))
    return path


def test_read_file_takes_any_kind_of_path(file):
    assert io.read_file(file) == io.read_file(str(file)) == io.read_file(bytes(file)) == bytes(range(100))


def test_read_file_takes_a_range(file):
    assert io.read_file(file, 10, 5) == bytes(range(10, 15))
    assert io.read_file(file, 90) == bytes(range(90, 100))
    assert io.read_file(file, 100) == io.read_file(file, 3, 0) == b""


@pytest.mark.parametrize(("offset", "length"), [(101, None), (95, 6), (0, 101), (2**63, 2**63)])
def test_read_file_past_the_end_is_an_error(file, offset, length):
    with pytest.raises(ReadError, match="the file has 100 bytes, asked for") as caught:
        io.read_file(file, offset, length)
    assert caught.value.where == str(file)


@pytest.mark.parametrize("name", ["missing.jpg", "."])
def test_read_file_of_no_file_names_it(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(OSError, match="cannot read the file") as caught:
        io.read_file(path)
    assert isinstance(caught.value, ReadError)
    assert caught.value.where == str(path)
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(("offset", "length"), [(-1, None), (0, -1)])
def test_read_file_of_a_negative_range_is_an_error(file, offset, length):
    with pytest.raises(InvalidArgumentError, match="negative range"):
        io.read_file(file, offset, length)


def test_decoders_take_bytes_of_any_kind():
    data = encode(photo(), "PNG")
    for contents in (data, bytearray(data), memoryview(data), np.array(data, object), np.bytes_(data)):
        np.testing.assert_array_equal(io.decode_png(contents), photo())


def test_decode_png_gives_the_dtype_asked_for():
    assert io.decode_png(encode(photo(), "PNG"), dtype="uint16").dtype == np.uint16
    assert io.decode_png(encode(photo(), "PNG")).dtype == np.uint8


def test_decoders_refuse_what_they_cannot_give():
    data = encode(photo(), "JPEG")
    with pytest.raises(InvalidArgumentError, match="one of 0, 1, 3"):
        io.decode_jpeg(data, channels=4)
    with pytest.raises(InvalidArgumentError, match="one of uint8, uint16"):
        io.decode_png(data, dtype=np.float32)
    with pytest.raises(InvalidArgumentError, match="call read_file first"):
        io.decode_jpeg("photo.jpg")
    with pytest.raises(DecodeError, match="a JPEG"):
        io.decode_png(data)
