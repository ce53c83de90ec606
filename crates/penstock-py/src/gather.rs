//! Gathering rows of NumPy arrays of any dtype without Python objects.

use numpy::npyffi::{_PyArray_GET_ITEM_DATA, flags::NPY_ARRAY_WRITEABLE};
use numpy::{PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use penstock_kernels::gather::{check, copy_rows, copy_windows, windows_fit, RowOutOfRange};
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
