//! Rows of bytes that lie in one buffer.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use penstock_kernels::packed::{gather, total};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

fn require_inside(bytes: usize, starts: &[i64], stops: &[i64]) -> PyResult<usize> {
    total(bytes, starts, stops).ok_or_else(|| PyValueError::new_err(format!("a row lies outside the {bytes} bytes")))
}

#[pyfunction]
pub fn packed_objects<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    starts: PyReadonlyArray1<'py, i64>,
    stops: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyList>> {
    let (data, starts, stops) = (data.as_slice()?, starts.as_slice()?, stops.as_slice()?);
    require_inside(data.len(), starts, stops)?;
    let rows = starts.iter().zip(stops).map(|(&start, &stop)| PyBytes::new(py, &data[start as usize..stop as usize]));
    PyList::new(py, rows)
}

#[pyfunction]
pub fn gather_packed<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    starts: PyReadonlyArray1<'py, i64>,
    stops: PyReadonlyArray1<'py, i64>,
) -> PyResult<(Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>)> {
    let (data, starts, stops) = (data.as_slice()?, starts.as_slice()?, stops.as_slice()?);
    let bytes = require_inside(data.len(), starts, stops)?;
    let (out, bounds) = py.detach(|| {
        let (mut out, mut bounds) = (Vec::with_capacity(bytes), Vec::with_capacity(starts.len() + 1));
        bounds.push(0);
        gather(data, starts, stops, &mut out, |end| bounds.push(end as i64));
        (out, bounds)
    });
    Ok((out.into_pyarray(py), bounds.into_pyarray(py)))
}
