//! Files and codecs.

use std::io::Read;
use std::path::PathBuf;

use numpy::{Element, IntoPyArray, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use penstock_kernels::fault::DecodeFault;
use penstock_kernels::image::{Image, Region};
use penstock_kernels::jpeg::Reading;
use penstock_kernels::meter::{metered, taken};
use penstock_kernels::resize::Shape;
use penstock_kernels::{bitmap, file, jpeg, png};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{IntoPyDict, PyBytes};

fn decode_error(py: Python<'_>, fault: &DecodeFault) -> PyErr {
    let raised = || {
        let remedy = [("remedy", fault.remedy)].into_py_dict(py)?;
        py.import("penstock.errors")?.getattr("DecodeError")?.call((&fault.reason,), Some(&remedy))
    };
    raised().map_or_else(|error| error, PyErr::from_value)
}

fn to_array<T: Element>(py: Python<'_>, decoded: Result<Image<T>, DecodeFault>) -> PyResult<Bound<'_, PyArray3<T>>> {
    let image = decoded.map_err(|fault| decode_error(py, &fault))?;
    image.data.into_pyarray(py).reshape([image.height, image.width, image.channels])
}

#[pyfunction]
pub fn read_file(py: Python<'_>, path: PathBuf, offset: u64, length: Option<u64>) -> PyResult<Bound<'_, PyBytes>> {
    let (mut file, size) = py.detach(|| file::open_range(&path, offset, length))?;
    PyBytes::new_with(py, size, |buffer| Ok(py.detach(|| metered(buffer.len(), || file.read_exact(buffer)))?))
}

#[pyfunction]
pub fn read_totals() -> (f64, u64) {
    let (nanoseconds, bytes) = taken();
    (nanoseconds as f64 * 1e-9, bytes)
}

#[pyfunction]
pub fn decode_jpeg(
    py: Python<'_>,
    data: PyBackedBytes,
    channels: usize,
    limit_pixels: usize,
    allow_truncated: bool,
    is_oriented: bool,
) -> PyResult<Bound<'_, PyArray3<u8>>> {
    let reading = Reading { channels, limit_pixels, allow_truncated, is_oriented, is_reference: false };
    let decoded = py.detach(|| jpeg::decode(&data, reading));
    to_array(py, decoded)
}

#[pyfunction]
pub fn decode_png_u8(
    py: Python<'_>,
    data: PyBackedBytes,
    channels: usize,
    limit_pixels: usize,
    is_oriented: bool,
) -> PyResult<Bound<'_, PyArray3<u8>>> {
    let decoded = py.detach(|| png::decode_u8(&data, channels, limit_pixels, is_oriented));
    to_array(py, decoded)
}

#[pyfunction]
pub fn decode_png_u16(
    py: Python<'_>,
    data: PyBackedBytes,
    channels: usize,
    limit_pixels: usize,
    is_oriented: bool,
) -> PyResult<Bound<'_, PyArray3<u16>>> {
    let decoded = py.detach(|| png::decode_u16(&data, channels, limit_pixels, is_oriented));
    to_array(py, decoded)
}

#[pyfunction]
pub fn decode_jpeg_region(
    py: Python<'_>,
    data: PyBackedBytes,
    region: (usize, usize, usize, usize),
    channels: usize,
    limit_pixels: usize,
    allow_truncated: bool,
    is_oriented: bool,
) -> PyResult<Bound<'_, PyArray3<u8>>> {
    let (top, left, height, width) = region;
    let region = Region { top, left, height, width };
    let reading = Reading { channels, limit_pixels, allow_truncated, is_oriented, is_reference: false };
    let decoded = py.detach(|| jpeg::decode_region(&data, region, reading));
    to_array(py, decoded)
}

#[pyfunction]
pub fn decode_bitmap(
    py: Python<'_>,
    data: PyBackedBytes,
    channels: usize,
    limit_pixels: usize,
    is_oriented: bool,
) -> PyResult<Bound<'_, PyArray3<u8>>> {
    let decoded = py.detach(|| bitmap::decode(&data, channels, limit_pixels, is_oriented));
    to_array(py, decoded)
}

fn shape_of(shape: &[usize]) -> Shape {
    Shape { height: shape[0], width: shape[1], channels: shape[2] }
}

fn encoded(py: Python<'_>, bytes: Result<Vec<u8>, DecodeFault>) -> PyResult<Bound<'_, PyBytes>> {
    bytes.map(|bytes| PyBytes::new(py, &bytes)).map_err(|fault| PyValueError::new_err(fault.reason))
}

#[pyfunction]
pub fn encode_jpeg<'py>(
    py: Python<'py>,
    image: PyReadonlyArray3<'py, u8>,
    quality: u8,
    progressive: bool,
    optimize: bool,
    halves_chroma: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let (pixels, shape) = (image.as_slice()?, shape_of(image.shape()));
    let sampling = if halves_chroma { jpeg::Sampling::HalfBoth } else { jpeg::Sampling::Full };
    let encoding = jpeg::Encoding { quality, progressive, optimize, sampling };
    let bytes = py.detach(|| jpeg::encode(pixels, shape, encoding));
    encoded(py, bytes)
}

/// `samples` are bytes: a 16-bit image has its last axis twice as long, big-endian.
#[pyfunction]
pub fn encode_png<'py>(
    py: Python<'py>,
    samples: PyReadonlyArray3<'py, u8>,
    wide: bool,
    level: Option<u8>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (bytes, mut shape) = (samples.as_slice()?, shape_of(samples.shape()));
    shape.channels /= if wide { 2 } else { 1 };
    let file = py.detach(|| png::encode(bytes, shape, wide, level));
    encoded(py, file)
}
