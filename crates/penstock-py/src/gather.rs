//! Gathering rows of NumPy arrays of any dtype without Python objects.

use numpy::npyffi::{_PyArray_GET_ITEM_DATA, flags::NPY_ARRAY_WRITEABLE};
use numpy::{PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use penstock_kernels::gather::{check, check_parts, copy_rows, copy_rows_of, copy_windows, windows_fit, RowOutOfRange};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Where an array's bytes lie; the array itself is kept alive by the caller for as long as this is used.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    start: usize,
    bytes: usize,
    rows: usize,
}

impl Memory {
    pub(crate) fn of(array: &Bound<'_, PyUntypedArray>, name: &str) -> PyResult<Self> {
        if array.ndim() == 0 || !array.is_c_contiguous() {
            return Err(PyValueError::new_err(format!(
                "{name} must be C-contiguous with a leading axis of rows, got shape {:?} and strides {:?}",
                array.shape(),
                array.strides()
            )));
        }
        if array.dtype().has_object() {
            return Err(PyTypeError::new_err(format!("{name} holds Python objects (dtype {})", array.dtype())));
        }
        // SAFETY: `array` is a live ndarray, so its struct can be read while the GIL is held.
        let start = unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).data as usize };
        Ok(Self { start, bytes: array.len() * array.dtype().itemsize(), rows: array.shape()[0] })
    }

    pub(crate) fn start(self) -> *const u8 {
        self.start as *const u8
    }

    pub(crate) fn bytes(self) -> usize {
        self.bytes
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.start < other.start + other.bytes && other.start < self.start + self.bytes
    }

    pub(crate) fn is_aligned(self, bytes: usize) -> bool {
        self.start.is_multiple_of(bytes.max(1))
    }

    /// The whole memory.
    ///
    /// # Safety
    /// The array is alive for as long as the slice, and nothing writes it meanwhile.
    pub(crate) unsafe fn as_bytes<'a>(self) -> &'a [u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: as the caller promises; `bytes` is the size of the whole array.
        unsafe { std::slice::from_raw_parts(self.start as *const u8, self.bytes) }
    }

    /// The whole memory as values of `T`.
    ///
    /// # Safety
    /// The array is writable, aligned for `T`, of a dtype that is `T`'s, alive for as long as the slice, and nothing else
    /// reads or writes it meanwhile.
    pub(crate) unsafe fn as_mut_slice<'a, T>(self) -> &'a mut [T] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: as the caller promises; `bytes` is the size of the whole array.
        unsafe { std::slice::from_raw_parts_mut(self.start as *mut T, self.bytes / size_of::<T>()) }
    }
}

pub(crate) fn is_writable(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: `array` is a live ndarray, so its struct can be read while the GIL is held.
    unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).flags & NPY_ARRAY_WRITEABLE != 0 }
}

fn check_out(
    src: &Bound<'_, PyUntypedArray>,
    from: Memory,
    out: &Bound<'_, PyUntypedArray>,
    number: usize,
) -> PyResult<Memory> {
    let memory = Memory::of(out, &format!("outs[{number}]"))?;
    if !out.dtype().is_equiv_to(&src.dtype()) || out.shape()[1..] != src.shape()[1..] {
        return Err(PyValueError::new_err(format!(
            "outs[{number}] has rows of shape {:?} and dtype {}, expected {:?} and {} as in src",
            &out.shape()[1..],
            out.dtype(),
            &src.shape()[1..],
            src.dtype()
        )));
    }
    if !is_writable(out) {
        return Err(PyValueError::new_err(format!("outs[{number}] is read-only")));
    }
    if memory.overlaps(from) {
        return Err(PyValueError::new_err(format!("outs[{number}] shares memory with src")));
    }
    Ok(memory)
}

#[pyfunction]
pub fn gather_rows<'py>(
    py: Python<'py>,
    src: Bound<'py, PyUntypedArray>,
    indices: PyReadonlyArray1<'py, i64>,
    outs: Vec<Bound<'py, PyUntypedArray>>,
) -> PyResult<()> {
    let from = Memory::of(&src, "src")?;
    let targets = outs
        .iter()
        .enumerate()
        .map(|(number, out)| check_out(&src, from, out, number))
        .collect::<PyResult<Vec<_>>>()?;
    let asked = indices.len();
    let room = targets.iter().map(|target| target.rows).sum::<usize>();
    if room != asked {
        return Err(PyValueError::new_err(format!("outs have {room} rows in all, expected {asked}, one per index")));
    }
    let row_bytes = src.shape()[1..].iter().product::<usize>() * src.dtype().itemsize();
    let copied;
    let indices = match indices.as_slice() {
        Ok(slice) => slice,
        Err(_) => {
            copied = indices.as_array().to_vec();
            &copied
        }
    };
    py.detach(|| {
        check(indices, from.rows)?;
        let mut first = 0;
        for target in targets {
            let part = &indices[first..first + target.rows];
            // SAFETY: every index is a row of src (`check`); the target has part.len() rows of row_bytes bytes, is
            // writable and does not overlap src (`check_out`); both arrays are referenced until this call returns,
            // and a referenced ndarray is not resized.
            unsafe { copy_rows(from.start as *const u8, part, row_bytes, target.start as *mut u8) };
            first += target.rows;
        }
        Ok(())
    })
    .map_err(row_error)
}

/// A column of several sources: their memory, and that of the arrays its rows are copied to.
struct Column {
    sources: Vec<Memory>,
    targets: Vec<Memory>,
    row_bytes: usize,
}

impl Column {
    fn of(sources: &[Bound<'_, PyUntypedArray>], outs: &[Bound<'_, PyUntypedArray>]) -> PyResult<Self> {
        let Some(first) = sources.first() else {
            return Err(PyValueError::new_err("a column has no sources"));
        };
        let row_bytes = first.shape().iter().skip(1).product::<usize>() * first.dtype().itemsize();
        let mut column = Self { sources: Vec::with_capacity(sources.len()), targets: Vec::new(), row_bytes };
        for (number, source) in sources.iter().enumerate() {
            let memory = Memory::of(source, &format!("source {number}"))?;
            if memory.rows.checked_mul(row_bytes) != Some(memory.bytes) {
                return Err(PyValueError::new_err(format!("source {number} has other rows than the first")));
            }
            column.sources.push(memory);
        }
        for (number, out) in outs.iter().enumerate() {
            let memory = check_out(first, column.sources[0], out, number)?;
            if column.sources.iter().any(|source| memory.overlaps(*source)) {
                return Err(PyValueError::new_err(format!("outs[{number}] shares memory with a source")));
            }
            column.targets.push(memory);
        }
        Ok(column)
    }
}

/// Row `rows[i]` of source `parts[i]` of every column, copied one after another into the column's outs.
#[pyfunction]
pub fn gather_parts<'py>(
    py: Python<'py>,
    sources: Vec<Vec<Bound<'py, PyUntypedArray>>>,
    parts: PyReadonlyArray1<'py, i64>,
    rows: PyReadonlyArray1<'py, i64>,
    outs: Vec<Vec<Bound<'py, PyUntypedArray>>>,
) -> PyResult<()> {
    if sources.len() != outs.len() || parts.len() != rows.len() {
        return Err(PyValueError::new_err("sources and outs, or parts and rows, are not of one length"));
    }
    let columns =
        sources.iter().zip(&outs).map(|(sources, outs)| Column::of(sources, outs)).collect::<PyResult<Vec<_>>>()?;
    let (parts, rows) = (parts.as_array().to_vec(), rows.as_array().to_vec());
    let Some(first) = columns.first() else {
        return Ok(());
    };
    let counts: Vec<usize> = first.sources.iter().map(|source| source.rows).collect();
    for column in &columns {
        let room = column.targets.iter().map(|target| target.rows).sum::<usize>();
        if room != rows.len() {
            return Err(PyValueError::new_err(format!("outs have {room} rows in all, expected {}", rows.len())));
        }
        if !column.sources.iter().map(|source| source.rows).eq(counts.iter().copied()) {
            return Err(PyValueError::new_err("the sources of two columns differ in their rows"));
        }
    }
    py.detach(|| {
        check_parts(&parts, &rows, &counts)?;
        for column in &columns {
            let starts: Vec<*const u8> = column.sources.iter().map(|source| source.start()).collect();
            let mut first = 0;
            for target in &column.targets {
                let last = first + target.rows;
                // SAFETY: every part and row is one of the column's sources (`check_parts`; all columns have the same
                // counts), each of whose rows has row_bytes bytes; the target has last - first such rows, is writable
                // and overlaps no source (`Column::of`); all are referenced until this call returns, and a referenced
                // ndarray is not resized.
                unsafe {
                    copy_rows_of(
                        &starts,
                        &parts[first..last],
                        &rows[first..last],
                        column.row_bytes,
                        target.start as *mut u8,
                    )
                };
                first = last;
            }
        }
        Ok(())
    })
    .map_err(row_error)
}

/// Windows of one array: window i is `width` bytes from byte `i * stride` on, copied into rows of `outs`.
#[pyfunction]
pub fn gather_windows<'py>(
    py: Python<'py>,
    src: Bound<'py, PyUntypedArray>,
    windows: (usize, usize, usize),
    indices: PyReadonlyArray1<'py, i64>,
    outs: Vec<Bound<'py, PyUntypedArray>>,
) -> PyResult<()> {
    let (count, stride, width) = windows;
    let from = Memory::of(&src, "src")?;
    if !windows_fit(count, stride, width, from.bytes) {
        return Err(PyValueError::new_err(format!(
            "{count} windows of {width} bytes, {stride} apart, do not lie in {} bytes",
            from.bytes
        )));
    }
    let mut targets = Vec::with_capacity(outs.len());
    for (number, out) in outs.iter().enumerate() {
        let memory = Memory::of(out, &format!("outs[{number}]"))?;
        if !is_writable(out) || memory.overlaps(from) {
            return Err(PyValueError::new_err(format!("outs[{number}] is read-only, or shares memory with src")));
        }
        if memory.rows.checked_mul(width) != Some(memory.bytes) {
            return Err(PyValueError::new_err(format!(
                "outs[{number}] has {} rows in {} bytes, expected {width} bytes a row",
                memory.rows, memory.bytes
            )));
        }
        targets.push(memory);
    }
    let indices = indices.as_array().to_vec();
    let room = targets.iter().map(|target| target.rows).sum::<usize>();
    if room != indices.len() {
        return Err(PyValueError::new_err(format!("outs have {room} rows in all, expected {}", indices.len())));
    }
    py.detach(|| {
        check(&indices, count)?;
        let mut first = 0;
        for target in targets {
            let part = &indices[first..first + target.rows];
            // SAFETY: every index is that of a window (`check`) which lies in src (`windows_fit`); the target is
            // writable, has part.len() rows of `width` bytes and does not overlap src; both arrays are referenced until
            // this call returns, and a referenced ndarray is not resized.
            unsafe { copy_windows(from.start as *const u8, part, stride, width, target.start as *mut u8) };
            first += target.rows;
        }
        Ok(())
    })
    .map_err(row_error)
}

fn row_error(error: RowOutOfRange) -> PyErr {
    PyIndexError::new_err(format!("index {} (at {}) is outside [0, {})", error.index, error.at, error.rows))
}
