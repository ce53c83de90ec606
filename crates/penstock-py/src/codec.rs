//! Files and codecs.

use std::io::Read;
use std::path::PathBuf;

use numpy::{Element, IntoPyArray, PyArray3, PyArrayMethods};
use penstock_kernels::fault::DecodeFault;
use penstock_kernels::image::Image;
use penstock_kernels::{file, jpeg, png};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

fn decode_error(py: Python<'_>, fault: &DecodeFault) -> PyErr {
    let raised = || py.import("penstock.errors")?.getattr("DecodeError")?.call1((&fault.reason,));
    raised().map_or_else(|error| error, PyErr::from_value)
}

fn to_array<T: Element>(py: Python<'_>, decoded: Result<Image<T>, DecodeFault>) -> PyResult<Bound<'_, PyArray3<T>>> {
    let image = decoded.map_err(|fault| decode_error(py, &fault))?;
    image.data.into_pyarray(py).reshape([image.height, image.width, image.channels])
}

#[pyfunction]
pub fn read_file(py: Python<'_>, path: PathBuf, offset: u64, length: Option<u64>) -> PyResult<Bound<'_, PyBytes>> {
    let (mut file, size) = py.detach(|| file::open_range(&path, offset, length))?;
    PyBytes::new_with(py, size, |buffer| Ok(py.detach(|| file.read_exact(buffer))?))
}

#[pyfunction]
pub fn decode_jpeg(
    py: Python<'_>,
    data: PyBackedBytes,
    channels: usize,
    limit_pixels: usize,
) -> PyResult<Bound<'_, PyArray3<u8>>> {
    let decoded = py.detach(|| jpeg::decode(&data, channels, limit_pixels));
    to_array(py, decoded)
}

#[pyfunction]
pub fn decode_png_u8(
    py: Python<'_>,
    data: PyBackedBytes,
    channels: usize,
    limit_pixels: usize,
) -> PyResult<Bound<'_, PyArray3<u8>>> {
    let decoded = py.detach(|| png::decode_u8(&data, channels, limit_pixels));
    to_array(py, decoded)
}

#[pyfunction]
pub fn decode_png_u16(
    py: Python<'_>,
    data: PyBackedBytes,
    channels: usize,
    limit_pixels: usize,
) -> PyResult<Bound<'_, PyArray3<u16>>> {
    let decoded = py.detach(|| png::decode_u16(&data, channels, limit_pixels));
    to_array(py, decoded)
}
