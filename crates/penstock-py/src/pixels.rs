//! Pixels: arrays come C-contiguous, as [n, h, w, c] where places matter and flat where only values do. Kernels that
//! move pixels take bytes: the last axis is then the bytes of a pixel, whatever its dtype.

use numpy::{
    IntoPyArray, PyArray1, PyArray4, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray4, PyUntypedArrayMethods,
};
use penstock_kernels::image::{self, Region};
use penstock_kernels::resize::{self, Filter, Shape};
use penstock_kernels::tone;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Above this many values a result is refused rather than left to exhaust the memory.
const LIMIT_VALUES: usize = 1 << 32;

#[derive(FromPyObject)]
pub enum Values<'py> {
    Bytes(PyReadonlyArray1<'py, u8>),
    Floats(PyReadonlyArray1<'py, f32>),
}

#[derive(FromPyObject)]
pub enum Images<'py> {
    Bytes(PyReadonlyArray4<'py, u8>),
    Floats(PyReadonlyArray4<'py, f32>),
}

impl Images<'_> {
    fn shape(&self) -> [usize; 4] {
        match self {
            Self::Bytes(array) => dims(array.shape()),
            Self::Floats(array) => dims(array.shape()),
        }
    }
}

fn dims(shape: &[usize]) -> [usize; 4] {
    [shape[0], shape[1], shape[2], shape[3]]
}

fn check_size(count: usize, from: Shape, height: usize, width: usize) -> PyResult<()> {
    if [from.height, from.width, from.channels, height, width].contains(&0) {
        return Err(PyValueError::new_err(format!("an image has no pixels: {from:?} to {height} x {width}")));
    }
    let values = [count, height, width, from.channels].into_iter().try_fold(1_usize, usize::checked_mul);
    match values {
        Some(values) if values <= LIMIT_VALUES => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "{count} images of {height} x {width} are more than {LIMIT_VALUES} values"
        ))),
    }
}

fn each<T: Sync, R: Send>(src: &[T], image_len: usize, kernel: impl Fn(&[T]) -> Vec<R>) -> Vec<R> {
    if src.len() == image_len {
        return kernel(src);
    }
    src.chunks_exact(image_len).flat_map(kernel).collect()
}

#[pyfunction]
pub fn resize_by<'py>(
    py: Python<'py>,
    images: Images<'py>,
    height: usize,
    width: usize,
    method: &str,
    antialias: bool,
) -> PyResult<Bound<'py, PyArray4<f32>>> {
    let filter = match method {
        "bilinear" => Filter::Bilinear { antialias },
        "bicubic" => Filter::Bicubic { antialias },
        "lanczos3" => Filter::Lanczos3 { antialias },
        "area" => Filter::Area,
        _ => return Err(PyValueError::new_err(format!("no method of resizing: {method}"))),
    };
    let [count, rows, columns, channels] = images.shape();
    let from = Shape { height: rows, width: columns, channels };
    check_size(count, from, height, width)?;
    let len = rows * columns * channels;
    let resized = match &images {
        Images::Bytes(array) => {
            let src = array.as_slice()?;
            py.detach(|| each(src, len, |image| resize::resize(image, from, height, width, filter)))
        }
        Images::Floats(array) => {
            let src = array.as_slice()?;
            py.detach(|| each(src, len, |image| resize::resize(image, from, height, width, filter)))
        }
    };
    resized.into_pyarray(py).reshape([count, height, width, channels])
}

#[pyfunction]
pub fn resize_nearest<'py>(
    py: Python<'py>,
    images: PyReadonlyArray4<'py, u8>,
    height: usize,
    width: usize,
) -> PyResult<Bound<'py, PyArray4<u8>>> {
    let [count, rows, columns, channels] = dims(images.shape());
    let from = Shape { height: rows, width: columns, channels };
    check_size(count, from, height, width)?;
    let src = images.as_slice()?;
    let resized =
        py.detach(|| each(src, rows * columns * channels, |image| resize::nearest(image, from, height, width)));
    resized.into_pyarray(py).reshape([count, height, width, channels])
}

#[pyfunction]
pub fn flip_left_right<'py>(py: Python<'py>, images: PyReadonlyArray4<'py, u8>) -> PyResult<Bound<'py, PyArray4<u8>>> {
    let shape = dims(images.shape());
    let src = images.as_slice()?;
    let flipped = py.detach(|| image::flip_left_right(src, shape[2], shape[3]));
    flipped.into_pyarray(py).reshape(shape)
}

#[pyfunction]
pub fn crop<'py>(
    py: Python<'py>,
    images: PyReadonlyArray4<'py, u8>,
    top: usize,
    left: usize,
    height: usize,
    width: usize,
) -> PyResult<Bound<'py, PyArray4<u8>>> {
    let [count, rows, columns, channels] = dims(images.shape());
    let inside = |start: usize, size: usize, whole: usize| start.checked_add(size).is_some_and(|end| end <= whole);
    if !inside(top, height, rows) || !inside(left, width, columns) {
        return Err(PyValueError::new_err(format!(
            "{height} x {width} at ({top}, {left}) is not inside {rows} x {columns}"
        )));
    }
    let region = Region { top, left, height, width };
    let src = images.as_slice()?;
    let len = rows * columns * channels;
    let cropped = py.detach(|| {
        if len == 0 {
            return Vec::new();
        }
        each(src, len, |image| image::crop(image, columns * channels, channels, region))
    });
    cropped.into_pyarray(py).reshape([count, height, width, channels])
}

fn check_channels(values: usize, one: usize, two: usize) -> PyResult<()> {
    if one == 0 || one != two || !values.is_multiple_of(one) {
        return Err(PyValueError::new_err(format!("{values} values do not fit {one} and {two} channels")));
    }
    Ok(())
}

#[pyfunction]
pub fn scale_channels<'py>(
    py: Python<'py>,
    values: Values<'py>,
    scale: Vec<f32>,
    offset: Vec<f32>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let scaled = match &values {
        Values::Bytes(array) => {
            let src = array.as_slice()?;
            check_channels(src.len(), scale.len(), offset.len())?;
            py.detach(|| image::scale_channels(src, &scale, &offset))
        }
        Values::Floats(array) => {
            let src = array.as_slice()?;
            check_channels(src.len(), scale.len(), offset.len())?;
            py.detach(|| image::scale_channels(src, &scale, &offset))
        }
    };
    Ok(scaled.into_pyarray(py))
}

#[pyfunction]
pub fn standardize<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f32>,
    mean: Vec<f32>,
    std: Vec<f32>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let src = values.as_slice()?;
    check_channels(src.len(), mean.len(), std.len())?;
    Ok(py.detach(|| image::standardize(src, &mean, &std)).into_pyarray(py))
}

#[pyfunction]
pub fn map_bytes<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, u8>,
    table: PyReadonlyArray1<'py, u8>,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let src = values.as_slice()?;
    let table: &[u8; 256] = table.as_slice()?.try_into()?;
    Ok(py.detach(|| image::map_bytes(src, table)).into_pyarray(py))
}

#[pyfunction]
pub fn floats_to_bytes<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f32>,
    saturate: bool,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let src = values.as_slice()?;
    Ok(py.detach(|| image::floats_to_bytes(src, saturate)).into_pyarray(py))
}

/// RGB values to one a pixel.
#[pyfunction]
pub fn rgb_to_grey<'py>(py: Python<'py>, values: Values<'py>) -> PyResult<Bound<'py, PyAny>> {
    match &values {
        Values::Bytes(array) => {
            let src = array.as_slice()?;
            check_channels(src.len(), 3, 3)?;
            Ok(py.detach(|| tone::grey_bytes(src)).into_pyarray(py).into_any())
        }
        Values::Floats(array) => {
            let src = array.as_slice()?;
            check_channels(src.len(), 3, 3)?;
            Ok(py.detach(|| tone::grey_floats(src)).into_pyarray(py).into_any())
        }
    }
}

/// The values of one image, all of them together.
#[pyfunction]
pub fn standardize_whole<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f32>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let src = values.as_slice()?;
    Ok(py.detach(|| tone::standardize_whole(src)).into_pyarray(py))
}
