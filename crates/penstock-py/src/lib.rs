//! `penstock._native`: converts arguments and errors and releases the GIL; all work is in `penstock-kernels`.

use pyo3::prelude::*;

mod gather;
mod random;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_function(wrap_pyfunction!(random::philox_words, m)?)?;
    m.add_function(wrap_pyfunction!(random::philox, m)?)?;
    m.add_function(wrap_pyfunction!(random::permute, m)?)?;
    m.add_function(wrap_pyfunction!(random::permute_range, m)?)?;
    m.add_function(wrap_pyfunction!(gather::gather_rows, m)?)?;
    Ok(())
}
