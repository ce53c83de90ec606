//! Copying arrays past the caches.

use crate::gather::{is_writable, Memory};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use penstock_kernels::stream;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pyfunction]
pub(crate) fn copy_streamed(
    py: Python<'_>,
    src: &Bound<'_, PyUntypedArray>,
    out: &Bound<'_, PyUntypedArray>,
) -> PyResult<()> {
    let (from, to) = (Memory::of(src, "src")?, Memory::of(out, "out")?);
    if out.shape() != src.shape() || !out.dtype().is_equiv_to(&src.dtype()) {
        return Err(PyValueError::new_err(format!(
            "out has shape {:?} and dtype {}, expected {:?} and {} as src",
            out.shape(),
            out.dtype(),
            src.shape(),
            src.dtype()
        )));
    }
    if !is_writable(out) {
        return Err(PyValueError::new_err("out is read-only"));
    }
    if to.overlaps(from) {
        return Err(PyValueError::new_err("out shares memory with src"));
    }
    // SAFETY: both arrays are alive for the call; `out` is writable and apart from `src`; any bytes are u8.
    let (from, to) = unsafe { (from.as_bytes(), to.as_mut_slice::<u8>()) };
    py.detach(|| stream::copy(from, to));
    Ok(())
}
