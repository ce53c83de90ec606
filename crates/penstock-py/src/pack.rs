//! Rows of unequal length into one array, and sequences into bins.

use numpy::{PyArrayDescrMethods, PyReadonlyArray1, PyReadwriteArray1, PyUntypedArray, PyUntypedArrayMethods};
use penstock_kernels::pack;
use penstock_kernels::ragged::{copy_runs, pad_runs, Run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::gather::{is_writable, Memory};

#[pyfunction]
pub fn place_rows<'py>(
    py: Python<'py>,
    rows: Vec<Bound<'py, PyUntypedArray>>,
    starts: PyReadonlyArray1<'py, i64>,
    out: Bound<'py, PyUntypedArray>,
) -> PyResult<()> {
    let starts = starts.as_slice()?;
    if starts.len() != rows.len() {
        return Err(PyValueError::new_err(format!("{} starts, expected {}, one per row", starts.len(), rows.len())));
    }
    let to = Memory::of(&out, "out")?;
    if !is_writable(&out) {
        return Err(PyValueError::new_err("out is read-only"));
    }
    let (dtype, item_bytes) = (out.dtype(), out.dtype().itemsize());
    let mut copies = Vec::new(); // what rows that are not contiguous are read from; they live until the end
    let mut runs = Vec::with_capacity(rows.len());
    for (number, (row, &start)) in rows.iter().zip(starts).enumerate() {
        if !row.dtype().is(&dtype) && !row.dtype().is_equiv_to(&dtype) {
            return Err(PyValueError::new_err(format!("rows[{number}] is of {}, out of {dtype}", row.dtype())));
        }
        let from = if row.is_c_contiguous() {
            Memory::of(row, "a row")?
        } else {
            let copy = row.call_method0("copy")?.cast_into::<PyUntypedArray>()?;
            let from = Memory::of(&copy, "a row")?;
            copies.push(copy);
            from
        };
        let at = usize::try_from(start).ok().and_then(|start| start.checked_mul(item_bytes));
        let end = at.and_then(|at| at.checked_add(from.bytes()));
        let (Some(at), Some(end)) = (at, end) else {
            return Err(PyValueError::new_err(format!("rows[{number}] starts at {start}")));
        };
        if end > to.bytes() || from.overlaps(to) {
            return Err(PyValueError::new_err(format!(
                "rows[{number}] does not fit: {} bytes from {at} on, out has {}",
                from.bytes(),
                to.bytes()
            )));
        }
        runs.push(Run { from: from.start(), bytes: from.bytes(), at });
    }
    let memory = Target(to.start().cast_mut());
    let runs = Runs(runs);
    // SAFETY: every run ends inside out (checked), which is writable and overlaps none of them; all arrays are
    // referenced until this call returns, and a referenced ndarray is not resized.
    py.detach(move || unsafe { runs.copy_to(memory) });
    Ok(())
}

/// Span i is `lengths[i]` items of `src` from `starts[i]` on; it goes to item `places[i]` of `out`.
#[pyfunction]
pub fn place_spans<'py>(
    py: Python<'py>,
    src: Bound<'py, PyUntypedArray>,
    starts: PyReadonlyArray1<'py, i64>,
    lengths: PyReadonlyArray1<'py, i64>,
    places: PyReadonlyArray1<'py, i64>,
    out: Bound<'py, PyUntypedArray>,
) -> PyResult<()> {
    let (starts, lengths, places) = (starts.as_slice()?, lengths.as_slice()?, places.as_slice()?);
    if starts.len() != lengths.len() || starts.len() != places.len() {
        return Err(PyValueError::new_err("starts, lengths and places differ in length"));
    }
    let (from, to) = (Memory::of(&src, "src")?, Memory::of(&out, "out")?);
    let (dtype, item_bytes) = (out.dtype(), out.dtype().itemsize());
    if !src.dtype().is_equiv_to(&dtype) || src.ndim() != 1 {
        return Err(PyValueError::new_err(format!("src is not 1-D, or of {}, out of {dtype}", src.dtype())));
    }
    if !is_writable(&out) || from.overlaps(to) {
        return Err(PyValueError::new_err("out is read-only, or shares memory with src"));
    }
    let (items, room) = (src.len(), out.len());
    let mut runs = Vec::with_capacity(starts.len());
    for (number, ((&start, &length), &place)) in starts.iter().zip(lengths).zip(places).enumerate() {
        let inside = |at: i64, room: usize| {
            let (at, length) = (usize::try_from(at).ok()?, usize::try_from(length).ok()?);
            (at.checked_add(length)? <= room).then_some(at)
        };
        let (Some(start), Some(place)) = (inside(start, items), inside(place, room)) else {
            return Err(PyValueError::new_err(format!(
                "span {number}: {length} items from {start} on to {place}; src has {items}, out {room}"
            )));
        };
        runs.push(Run {
            from: from.start().wrapping_add(start * item_bytes),
            bytes: length as usize * item_bytes,
            at: place * item_bytes,
        });
    }
    let memory = Target(to.start().cast_mut());
    let runs = Runs(runs);
    // SAFETY: every run lies inside src and ends inside out (checked), which is writable and does not overlap src; both
    // arrays are referenced until this call returns, and a referenced ndarray is not resized.
    py.detach(move || unsafe { runs.copy_to(memory) });
    Ok(())
}

/// Span i is `lengths[i]` items of `src` from `starts[i]` on; spans go to the rows of `outs`, [k, width] each, one after
/// another, and `item` [1] to what is left of a row.
#[pyfunction]
pub fn pad_spans<'py>(
    py: Python<'py>,
    src: Bound<'py, PyUntypedArray>,
    starts: PyReadonlyArray1<'py, i64>,
    lengths: PyReadonlyArray1<'py, i64>,
    item: Bound<'py, PyUntypedArray>,
    outs: Vec<Bound<'py, PyUntypedArray>>,
) -> PyResult<()> {
    let (starts, lengths) = (starts.as_slice()?, lengths.as_slice()?);
    let (from, one) = (Memory::of(&src, "src")?, Memory::of(&item, "item")?);
    let (dtype, item_bytes) = (src.dtype(), src.dtype().itemsize());
    if src.ndim() != 1 || one.bytes() != item_bytes || item_bytes == 0 || starts.len() != lengths.len() {
        return Err(PyValueError::new_err("src is not 1-D, item not one of its items, or starts and lengths differ"));
    }
    let mut rows = starts.iter().zip(lengths);
    let mut batches = Vec::with_capacity(outs.len());
    for (number, out) in outs.iter().enumerate() {
        let to = Memory::of(out, "an out")?;
        if out.ndim() != 2 || !out.dtype().is_equiv_to(&dtype) || !is_writable(out) || to.overlaps(from) {
            return Err(PyValueError::new_err(format!("outs[{number}] is not 2-D, of another dtype, or not writable")));
        }
        let (count, width) = (out.shape()[0], out.shape()[1]);
        let mut runs = Vec::with_capacity(count);
        for _ in 0..count {
            let Some((&start, &length)) = rows.next() else {
                return Err(PyValueError::new_err(format!("{} spans for more rows", starts.len())));
            };
            let span = usize::try_from(start).ok().zip(usize::try_from(length).ok());
            let span = span.filter(|&(start, length)| {
                length <= width && start.checked_add(length).is_some_and(|end| end <= src.len())
            });
            let Some((start, length)) = span else {
                return Err(PyValueError::new_err(format!(
                    "a span of {length} items from {start} on; src has {}, a row {width}",
                    src.len()
                )));
            };
            let from = from.start().wrapping_add(start * item_bytes);
            runs.push(Run { from, bytes: length * item_bytes, at: 0 });
        }
        batches.push((Runs(runs), width * item_bytes, Target(to.start().cast_mut())));
    }
    if rows.next().is_some() {
        return Err(PyValueError::new_err(format!("{} spans for fewer rows", starts.len())));
    }
    // SAFETY: `item` is referenced until this call returns; nobody else writes to what we were given as the padding.
    let padding = unsafe { one.as_bytes() };
    py.detach(move || {
        for (runs, width, memory) in batches {
            // SAFETY: every span lies inside src and is no longer than a row; as many runs as out has rows (all
            // checked); out is writable and does not overlap src; all arrays are referenced until this call returns.
            unsafe { runs.pad_to(width, padding, memory) }
        }
    });
    Ok(())
}

struct Target(*mut u8);
struct Runs(Vec<Run>);

// SAFETY: the memory behind the pointers is kept alive by the caller; nothing else is shared.
unsafe impl Send for Target {}
// SAFETY: likewise.
unsafe impl Send for Runs {}

impl Runs {
    unsafe fn copy_to(self, target: Target) {
        // SAFETY: the caller's promise, passed on.
        unsafe { copy_runs(&self.0, target.0) }
    }

    unsafe fn pad_to(self, width: usize, item: &[u8], target: Target) {
        // SAFETY: the caller's promise, passed on.
        unsafe { pad_runs(&self.0, width, item, target.0) }
    }
}

#[pyfunction]
pub fn assign_bins<'py>(
    py: Python<'py>,
    lengths: PyReadonlyArray1<'py, i64>,
    capacities: PyReadonlyArray1<'py, i64>,
    mut used: PyReadwriteArray1<'py, i64>,
    fullest: bool,
    mut bins_of: PyReadwriteArray1<'py, i64>,
) -> PyResult<usize> {
    let (lengths, capacities) = (lengths.as_slice()?, capacities.as_slice()?);
    let (used, bins_of) = (used.as_slice_mut()?, bins_of.as_slice_mut()?);
    let features = capacities.len();
    if features == 0 || lengths.len() != bins_of.len() * features || used.len() % features != 0 {
        return Err(PyValueError::new_err(format!(
            "{} lengths, {} used, {} places do not go with {features} features",
            lengths.len(),
            used.len(),
            bins_of.len()
        )));
    }
    Ok(py.detach(|| pack::assign_bins(lengths, capacities, used, fullest, bins_of)))
}

#[pyfunction]
pub fn mark_segments<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray1<'py, i64>,
    lengths: PyReadonlyArray1<'py, i64>,
    ids: PyReadonlyArray1<'py, i32>,
    mut segments: PyReadwriteArray1<'py, i32>,
    mut positions: PyReadwriteArray1<'py, i32>,
) -> PyResult<()> {
    let (starts, lengths, ids) = (starts.as_slice()?, lengths.as_slice()?, ids.as_slice()?);
    let (segments, positions) = (segments.as_slice_mut()?, positions.as_slice_mut()?);
    if starts.len() != lengths.len() || starts.len() != ids.len() || segments.len() != positions.len() {
        return Err(PyValueError::new_err("starts, lengths and ids, or segments and positions, differ in length"));
    }
    if !py.detach(|| pack::mark_segments(starts, lengths, ids, segments, positions)) {
        return Err(PyValueError::new_err("a piece does not lie inside"));
    }
    Ok(())
}
