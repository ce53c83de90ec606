//! Random words and permutations.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use penstock_kernels::permute::{OutOfRange, Permutation};
use penstock_kernels::philox::{fill_rows, Stream, STREAM_WORDS};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

/// From here on a call is long enough for another thread to use the GIL meanwhile.
const DETACH_WORDS: usize = 4096;

#[pyfunction]
pub fn philox_words(
    py: Python<'_>,
    key: u64,
    id: u64,
    op: u32,
    first: u64,
    count: usize,
) -> PyResult<Bound<'_, PyArray1<u32>>> {
    if first.checked_add(count as u64).is_none_or(|end| end > STREAM_WORDS) {
        return Err(PyValueError::new_err(format!(
            "a stream holds {STREAM_WORDS} words, asked for {count} from {first}"
        )));
    }
    let stream = Stream { key, id, op };
    let fill = || {
        let mut words = vec![0; count];
        stream.fill(first, &mut words);
        words
    };
    let words = if count < DETACH_WORDS { fill() } else { py.detach(fill) };
    Ok(words.into_pyarray(py))
}

#[pyfunction]
pub fn philox<'py>(
    py: Python<'py>,
    key: u64,
    ids: PyReadonlyArray1<'py, u64>,
    op: u32,
    draws: usize,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let ids = ids.as_array().to_vec();
    let size = ids.len().checked_mul(draws).filter(|_| draws as u64 <= STREAM_WORDS);
    let Some(size) = size.filter(|&size| size < isize::MAX as usize / 4) else {
        return Err(PyValueError::new_err(format!("{} rows of {draws} draws are too many", ids.len())));
    };
    let rows = ids.len();
    let words = py.detach(move || {
        let mut words = vec![0; size];
        fill_rows(key, &ids, op, draws, &mut words);
        words
    });
    words.into_pyarray(py).reshape([rows, draws])
}

fn range_error(n: u64) -> impl Fn(OutOfRange) -> PyErr {
    move |error| PyIndexError::new_err(format!("position {} (at {}) is outside [0, {n})", error.position, error.at))
}

fn check_n(n: u64) -> PyResult<()> {
    if n > i64::MAX as u64 {
        return Err(PyValueError::new_err(format!("a permutation of {n} rows, expected fewer than 2**63")));
    }
    Ok(())
}

#[pyfunction]
pub fn permute<'py>(
    py: Python<'py>,
    key: u64,
    n: u64,
    positions: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    check_n(n)?;
    let mut values = positions.as_array().to_vec();
    py.detach(|| Permutation::new(key, n).apply(&mut values)).map_err(range_error(n))?;
    Ok(values.into_pyarray(py))
}

#[pyfunction]
pub fn permute_range(py: Python<'_>, key: u64, n: u64, start: i64, stop: i64) -> PyResult<Bound<'_, PyArray1<i64>>> {
    check_n(n)?;
    if start < 0 || stop < start || stop as u64 > n {
        return Err(PyIndexError::new_err(format!("positions [{start}, {stop}) are not inside [0, {n})")));
    }
    let values = py.detach(|| {
        let mut values: Vec<i64> = (start..stop).collect();
        Permutation::new(key, n).apply(&mut values).map(|()| values)
    });
    Ok(values.map_err(range_error(n))?.into_pyarray(py))
}
