//! Records and lines of one open file.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use penstock_kernels::pieces::{line_bounds, read_pieces};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// A regular file, open for as long as this lives.
#[pyclass(frozen, module = "penstock._native")]
pub struct FileReader {
    pub(crate) file: File,
}

#[pymethods]
impl FileReader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = py.detach(|| File::open(path))?;
        if !file.metadata()?.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "not a regular file").into());
        }
        Ok(Self { file })
    }

    /// Its size now, in bytes.
    fn size(&self) -> PyResult<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_pieces<'py>(
        &self,
        py: Python<'py>,
        starts: PyReadonlyArray1<'py, u64>,
        lengths: PyReadonlyArray1<'py, u64>,
        is_line: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let (starts, lengths) = (starts.as_array().to_vec(), lengths.as_array().to_vec());
        let total = lengths.iter().try_fold(0u64, |sum, &length| sum.checked_add(length));
        let total = total.filter(|&total| total < isize::MAX as u64 && starts.len() == lengths.len());
        let Some(total) = total else {
            return Err(PyValueError::new_err("starts and lengths of pieces do not fit together"));
        };
        let bytes = py.detach(|| {
            let mut bytes = vec![0; total as usize];
            read_pieces(&self.file, &starts, &lengths, &mut bytes).map(|()| bytes)
        })?;
        let mut rest = &bytes[..];
        let pieces = lengths.iter().map(|&length| {
            let (piece, after) = rest.split_at(length as usize);
            rest = after;
            PyBytes::new(py, if is_line { without_end(piece) } else { piece })
        });
        PyList::new(py, pieces)
    }

    fn line_bounds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let bounds = py.detach(|| line_bounds(&self.file, self.file.metadata()?.len()))?;
        Ok(bounds.into_pyarray(py))
    }
}

/// A line without its newline, and without the carriage return before that.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
