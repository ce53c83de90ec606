//! TFRecord framing.

use std::io::{Error, ErrorKind};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use penstock_kernels::pieces::{read_exact_at, read_pieces};
use penstock_kernels::record;
use penstock_kernels::record::Fault;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::pieces::FileReader;

/// Where, what, what was got, and what was expected; `kernels/record.py` says what each means.
type Told = (u64, &'static str, u64, u64);
type Indices<'py> = Bound<'py, PyArray1<i64>>;

fn told(at: u64, fault: Fault) -> Told {
    match fault {
        Fault::Length { stored, computed } => (at, "length", computed.into(), stored.into()),
        Fault::Data { stored, computed } => (at, "data", computed.into(), stored.into()),
        Fault::Cut { left, taken } => (at, "cut", left, taken),
        Fault::Other { length, taken } => (at, "other", length, taken),
    }
}

#[pyfunction]
pub fn masked_crc(py: Python<'_>, data: PyBackedBytes) -> u32 {
    py.detach(|| record::masked_crc(&data))
}

#[pyfunction]
pub fn frame_record<'py>(py: Python<'py>, data: PyBackedBytes) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
    let (header, footer) = py.detach(|| record::frame(&data));
    (PyBytes::new(py, &header), PyBytes::new(py, &footer))
}

#[pyfunction]
#[allow(clippy::type_complexity, reason = "a tuple of Python, named in kernels/record.py")]
pub fn scan_records<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    left: u64,
    verify: bool,
    skips: bool,
) -> PyResult<(Indices<'py>, Indices<'py>, u64, u64, bool, Vec<Told>)> {
    let data = data.as_slice()?;
    let found = py.detach(|| record::scan(data, left, verify, skips));
    let faults = found.faults.iter().map(|&(at, fault)| told(at as u64, fault)).collect();
    let (starts, stops) = (found.starts.into_pyarray(py), found.stops.into_pyarray(py));
    Ok((starts, stops, found.consumed as u64, found.wanted, found.ended, faults))
}

#[pyfunction]
pub fn record_bounds<'py>(
    py: Python<'py>,
    file: &Bound<'py, FileReader>,
    size: u64,
) -> PyResult<(Bound<'py, PyArray1<u64>>, Option<Told>)> {
    let file = &file.get().file;
    let (bounds, fault) = py.detach(|| {
        let mut bounds = vec![0];
        let read = |out: &mut [u8], at| read_exact_at(file, out, at);
        record::walk(read, 0, size, u64::MAX, |end| bounds.push(end)).map(|fault| (bounds, fault))
    })?;
    Ok((bounds.into_pyarray(py), fault.map(|(at, fault)| told(at, fault))))
}

#[pyfunction]
pub fn skip_records(
    py: Python<'_>,
    file: &Bound<'_, FileReader>,
    size: u64,
    count: u64,
) -> PyResult<(u64, u64, Option<Told>)> {
    let file = &file.get().file;
    let (mut skipped, mut offset) = (0, 0);
    let fault = py.detach(|| {
        let read = |out: &mut [u8], at| read_exact_at(file, out, at);
        record::walk(read, 0, size, count, |end| (skipped, offset) = (skipped + 1, end))
    })?;
    Ok((skipped, offset, fault.map(|(at, fault)| told(at, fault))))
}

#[pyfunction]
#[allow(clippy::type_complexity, reason = "a tuple of Python, named in kernels/record.py")]
pub fn read_records<'py>(
    py: Python<'py>,
    files: Vec<Bound<'py, FileReader>>,
    numbers: PyReadonlyArray1<'py, i64>,
    starts: PyReadonlyArray1<'py, u64>,
    stops: PyReadonlyArray1<'py, u64>,
    verify: bool,
) -> PyResult<(Bound<'py, PyArray1<u8>>, Indices<'py>, Indices<'py>, Option<Told>)> {
    let (numbers, starts, stops) = (numbers.as_slice()?, starts.as_slice()?, stops.as_slice()?);
    let files: Vec<&FileReader> = files.iter().map(Bound::get).collect();
    let fits = numbers.len() == starts.len()
        && starts.len() == stops.len()
        && numbers.iter().all(|&number| usize::try_from(number).is_ok_and(|number| number < files.len()));
    if !fits {
        return Err(PyValueError::new_err("numbers, starts and stops of records do not fit together"));
    }
    let sizes: Vec<u64> = starts.iter().zip(stops).map(|(&start, &stop)| stop.saturating_sub(start)).collect();
    let (bytes, starts, stops, fault) = py.detach(|| -> PyResult<_> {
        let (bytes, rows, unread) = read(&files, numbers, starts, &sizes)?;
        let (found, ends, fault) = record::check(&bytes, &sizes[..rows], verify);
        let fault = fault.map(|fault| told(found.len() as u64, fault));
        let unread = unread.map(|error| (rows as u64, "unread", error.raw_os_error().unwrap_or(0) as u64, 0));
        Ok((bytes, found, ends, fault.or(unread)))
    })?;
    Ok((bytes.into_pyarray(py), starts.into_pyarray(py), stops.into_pyarray(py), fault))
}

#[pyfunction]
#[allow(clippy::type_complexity, reason = "a tuple of Python, named in kernels/record.py")]
pub fn gather_records<'py>(
    py: Python<'py>,
    files: Vec<PyReadonlyArray1<'py, u8>>,
    numbers: PyReadonlyArray1<'py, i64>,
    starts: PyReadonlyArray1<'py, u64>,
    stops: PyReadonlyArray1<'py, u64>,
    verify: bool,
) -> PyResult<(Bound<'py, PyArray1<u8>>, Indices<'py>, Option<Told>)> {
    let (numbers, starts, stops) = (numbers.as_slice()?, starts.as_slice()?, stops.as_slice()?);
    if numbers.len() != starts.len() || starts.len() != stops.len() {
        return Err(PyValueError::new_err("numbers, starts and stops of records do not fit together"));
    }
    let files: Vec<&[u8]> = files.iter().map(|file| file.as_slice()).collect::<Result<_, _>>()?;
    let found = py.detach(|| record::gather(&files, numbers, starts, stops, verify));
    let Some((bytes, bounds, fault)) = found else {
        return Err(PyMemoryError::new_err("no memory for the records of one block"));
    };
    let fault = fault.map(|fault| told(bounds.len() as u64 - 1, fault));
    Ok((bytes.into_pyarray(py), bounds.into_pyarray(py), fault))
}

/// The bytes of all rows, one after another, and how many rows were read before an error.
fn read(
    files: &[&FileReader],
    numbers: &[i64],
    starts: &[u64],
    sizes: &[u64],
) -> PyResult<(Vec<u8>, usize, Option<Error>)> {
    let ends: Vec<u64> =
        files.iter().map(|each| each.file.metadata().map(|found| found.len())).collect::<Result<_, _>>()?;
    let inside = |row: usize| starts[row] + sizes[row] <= ends[numbers[row] as usize];
    let rows = (0..starts.len()).find(|&row| !inside(row)).unwrap_or(starts.len());
    let total = sizes[..rows].iter().try_fold(0u64, |sum, &size| sum.checked_add(size));
    let total = total.and_then(|total| usize::try_from(total).ok());
    let mut bytes = Vec::new();
    if total.is_none_or(|total| bytes.try_reserve_exact(total).is_err()) {
        return Err(PyMemoryError::new_err("no memory for the records of one block"));
    }
    bytes.resize(total.unwrap_or(0), 0);
    let (mut row, mut at) = (0, 0);
    while row < rows {
        let run = (row..rows).take_while(|&next| numbers[next] == numbers[row]).count();
        let length: u64 = sizes[row..row + run].iter().sum();
        let out = &mut bytes[at..at + length as usize];
        if let Err(error) =
            read_pieces(&files[numbers[row] as usize].file, &starts[row..row + run], &sizes[row..row + run], out)
        {
            return Ok((bytes, row, Some(error)));
        }
        (row, at) = (row + run, at + length as usize);
    }
    let cut = (rows < starts.len()).then(|| Error::from(ErrorKind::UnexpectedEof));
    Ok((bytes, rows, cut))
}
