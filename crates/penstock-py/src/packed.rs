//! Rows of bytes that lie in buffers.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use penstock_kernels::packed::{rows, total};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

type Bytes<'py> = PyReadonlyArray1<'py, u8>;
type Places<'py> = PyReadonlyArray1<'py, i64>;
/// One buffer, and where its rows begin and end.
type Gathered<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

fn slices<'a>(buffers: &'a [Bytes<'_>]) -> PyResult<Vec<&'a [u8]>> {
    Ok(buffers.iter().map(|buffer| buffer.as_slice()).collect::<Result<_, _>>()?)
}

fn outside() -> PyErr {
    PyValueError::new_err("a row lies outside its buffer")
}

#[pyfunction]
pub fn packed_objects<'py>(
    py: Python<'py>,
    buffers: Vec<Bytes<'py>>,
    numbers: Option<Places<'py>>,
    starts: Places<'py>,
    stops: Places<'py>,
) -> PyResult<Bound<'py, PyList>> {
    let (buffers, starts, stops) = (slices(&buffers)?, starts.as_slice()?, stops.as_slice()?);
    let numbers = numbers.as_ref().map(|numbers| numbers.as_slice()).transpose()?;
    total(&buffers, numbers, starts, stops).ok_or_else(outside)?;
    PyList::new(py, rows(&buffers, numbers, starts, stops).map(|row| PyBytes::new(py, row)))
}

#[pyfunction]
pub fn gather_packed<'py>(
    py: Python<'py>,
    buffers: Vec<Bytes<'py>>,
    numbers: Option<Places<'py>>,
    starts: Places<'py>,
    stops: Places<'py>,
) -> PyResult<Gathered<'py>> {
    let (buffers, starts, stops) = (slices(&buffers)?, starts.as_slice()?, stops.as_slice()?);
    let numbers = numbers.as_ref().map(|numbers| numbers.as_slice()).transpose()?;
    let bytes = total(&buffers, numbers, starts, stops).ok_or_else(outside)?;
    let (out, bounds) = py.detach(|| {
        let (mut out, mut bounds) = (Vec::with_capacity(bytes), Vec::with_capacity(starts.len() + 1));
        bounds.push(0);
        for row in rows(&buffers, numbers, starts, stops) {
            out.extend_from_slice(row);
            bounds.push(out.len() as i64);
        }
        (out, bounds)
    });
    Ok((out.into_pyarray(py), bounds.into_pyarray(py)))
}
