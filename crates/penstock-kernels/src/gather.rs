//! Rows of one array, picked by index, copied one after another into several others: how a shuffled batch is made.
//!
//! A random row is a cache miss; the rows of the calls to come are prefetched while this one is copied.

/// A row asked for that the source does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOutOfRange {
    pub at: usize,
    pub index: i64,
    pub rows: usize,
}

/// Bytes to have under way ahead of the copy: well inside an L1. From 2 to 16 rows it makes no
/// difference that can be told from noise.
const AHEAD_BYTES: usize = 8 * 1024;
const LINE_BYTES: usize = 64;

/// Check that every index is a row of a source with `rows` rows.
pub fn check(indices: &[i64], rows: usize) -> Result<(), RowOutOfRange> {
    let largest = indices.iter().fold(0, |most, &i| most.max(i as u64));
    if indices.is_empty() || largest < rows as u64 {
        return Ok(());
    }
    match indices.iter().position(|&i| i as u64 >= rows as u64) {
        Some(at) => Err(RowOutOfRange { at, index: indices[at], rows }),
        None => Ok(()),
    }
}

/// Copy rows of `row_bytes` bytes from `src` to `dst`, in the order of `indices`.
///
/// # Safety
/// `src` is readable for `(max(indices) + 1) * row_bytes` bytes and every index was checked (`check`); `dst` is
/// writable for `indices.len() * row_bytes` bytes; the two do not overlap. Neither needs to be aligned.
pub unsafe fn copy_rows(src: *const u8, indices: &[i64], row_bytes: usize, dst: *mut u8) {
    // SAFETY: the caller's promise, passed on; the width is the row's own.
    unsafe {
        match row_bytes {
            0 => {}
            1 => copy_fixed::<1>(src, indices, dst),
            2 => copy_fixed::<2>(src, indices, dst),
            3 => copy_fixed::<3>(src, indices, dst),
            4 => copy_fixed::<4>(src, indices, dst),
            8 => copy_fixed::<8>(src, indices, dst),
            12 => copy_fixed::<12>(src, indices, dst),
            16 => copy_fixed::<16>(src, indices, dst),
            _ => copy_windows(src, indices, row_bytes, row_bytes, dst),
        }
    }
}

unsafe fn copy_fixed<const BYTES: usize>(src: *const u8, indices: &[i64], dst: *mut u8) {
    for (slot, &index) in indices.iter().enumerate() {
        // SAFETY: index and slot are inside by the promise of `copy_rows`; [u8; N] has no alignment.
        unsafe {
            let row = src.add(index as usize * BYTES).cast::<[u8; BYTES]>();
            *dst.add(slot * BYTES).cast::<[u8; BYTES]>() = *row;
        }
    }
}

/// Check that row `rows[i]` is one of source `parts[i]`, for sources of `counts` rows.
pub fn check_parts(parts: &[i64], rows: &[i64], counts: &[usize]) -> Result<(), RowOutOfRange> {
    check(parts, counts.len())?;
    for (at, (&part, &index)) in parts.iter().zip(rows).enumerate() {
        let rows = counts[part as usize];
        if index as u64 >= rows as u64 {
            return Err(RowOutOfRange { at, index, rows });
        }
    }
    Ok(())
}

/// Copy row `rows[i]` of source `parts[i]` to row i of `dst`, all of `row_bytes` bytes.
///
/// # Safety
/// Parts and rows were checked (`check_parts`) against what each source is readable for; `dst` is writable for
/// `rows.len() * row_bytes` bytes and overlaps no source. None needs to be aligned.
pub unsafe fn copy_rows_of(sources: &[*const u8], parts: &[i64], rows: &[i64], row_bytes: usize, dst: *mut u8) {
    // SAFETY: the caller's promise, passed on; the width is the row's own.
    unsafe {
        match row_bytes {
            1 => copy_fixed_of::<1>(sources, parts, rows, dst),
            2 => copy_fixed_of::<2>(sources, parts, rows, dst),
            4 => copy_fixed_of::<4>(sources, parts, rows, dst),
            8 => copy_fixed_of::<8>(sources, parts, rows, dst),
            _ => {
                for (slot, (&part, &row)) in parts.iter().zip(rows).enumerate() {
                    let from = sources[part as usize].add(row as usize * row_bytes);
                    std::ptr::copy_nonoverlapping(from, dst.add(slot * row_bytes), row_bytes);
                }
            }
        }
    }
}

unsafe fn copy_fixed_of<const BYTES: usize>(sources: &[*const u8], parts: &[i64], rows: &[i64], dst: *mut u8) {
    for (slot, (&part, &row)) in parts.iter().zip(rows).enumerate() {
        // SAFETY: part, row and slot are inside by the promise of `copy_rows_of`; [u8; N] has no alignment.
        unsafe {
            let from = sources[part as usize].add(row as usize * BYTES).cast::<[u8; BYTES]>();
            *dst.add(slot * BYTES).cast::<[u8; BYTES]>() = *from;
        }
    }
}

/// Check that `count` windows of `width` bytes, each `stride` after the one before, lie in `bytes` bytes.
pub fn windows_fit(count: usize, stride: usize, width: usize, bytes: usize) -> bool {
    count == 0
        || (count - 1).checked_mul(stride).and_then(|last| last.checked_add(width)).is_some_and(|end| end <= bytes)
}

/// Copy windows of `width` bytes, window i at `i * stride` of `src`, to `dst`, in the order of `indices`. They may
/// overlap one another.
///
/// # Safety
/// Every index was checked (`check`) against a count of windows that `src` holds (`windows_fit`); `dst` is writable for
/// `indices.len() * width` bytes; the two do not overlap. Neither needs to be aligned.
pub unsafe fn copy_windows(src: *const u8, indices: &[i64], stride: usize, width: usize, dst: *mut u8) {
    if width == 0 {
        return;
    }
    let ahead = (AHEAD_BYTES / width).clamp(1, 16);
    let lines_bytes = width.min(AHEAD_BYTES / 2);
    for (slot, &index) in indices.iter().enumerate() {
        // SAFETY: every address lies in a window that exists by the caller's promise.
        unsafe {
            if let Some(&next) = indices.get(slot + ahead) {
                let window = src.add(next as usize * stride);
                for offset in (0..lines_bytes).step_by(LINE_BYTES) {
                    prefetch(window.add(offset));
                }
            }
            let window = src.add(index as usize * stride);
            std::ptr::copy_nonoverlapping(window, dst.add(slot * width), width);
        }
    }
}

/// Ask for the first lines of bytes that are read soon, as many as there is room for.
#[inline(always)]
pub(crate) fn prefetch_bytes(bytes: &[u8]) {
    bytes[..bytes.len().min(AHEAD_BYTES / 2)].iter().step_by(LINE_BYTES).for_each(|byte| prefetch(byte));
}

#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; it cannot fault and SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_width_are_copied_in_order() {
        for row_bytes in [0, 1, 2, 3, 4, 7, 8, 13, 64, 784, 20_000] {
            let rows = 37;
            let src: Vec<u8> = (0..rows * row_bytes).map(|i| (i * 31 % 251) as u8).collect();
            let indices: Vec<i64> = (0..100).map(|i| i * 7 % rows as i64).collect();
            let mut dst = vec![0; indices.len() * row_bytes];
            check(&indices, rows).unwrap();
            // SAFETY: indices were checked; dst has room for each.
            unsafe { copy_rows(src.as_ptr(), &indices, row_bytes, dst.as_mut_ptr()) };
            let expected: Vec<u8> =
                indices.iter().flat_map(|&i| &src[i as usize * row_bytes..][..row_bytes]).copied().collect();
            assert_eq!(dst, expected, "row_bytes={row_bytes}");
        }
    }

    #[test]
    fn rows_of_several_sources_are_copied_in_order() {
        for row_bytes in [0, 1, 2, 3, 4, 8, 13] {
            let sources: Vec<Vec<u8>> = [5usize, 1, 9]
                .iter()
                .map(|&rows| (0..rows * row_bytes).map(|i| (i * 7 + rows) as u8).collect())
                .collect();
            let parts = [2, 0, 0, 1, 2, 2];
            let rows = [8, 4, 0, 0, 0, 3];
            check_parts(&parts, &rows, &[5, 1, 9]).unwrap();
            let starts: Vec<*const u8> = sources.iter().map(|source| source.as_ptr()).collect();
            let mut dst = vec![0; rows.len() * row_bytes];
            // SAFETY: parts and rows were checked; dst has room for each.
            unsafe { copy_rows_of(&starts, &parts, &rows, row_bytes, dst.as_mut_ptr()) };
            let expected: Vec<u8> = parts
                .iter()
                .zip(&rows)
                .flat_map(|(&part, &row)| &sources[part as usize][row as usize * row_bytes..][..row_bytes])
                .copied()
                .collect();
            assert_eq!(dst, expected, "row_bytes={row_bytes}");
        }
    }

    #[test]
    fn a_row_or_a_part_that_is_not_there_is_named() {
        assert_eq!(check_parts(&[0, 1], &[4, 1], &[5, 1]), Err(RowOutOfRange { at: 1, index: 1, rows: 1 }));
        assert_eq!(check_parts(&[0, 2], &[4, 0], &[5, 1]), Err(RowOutOfRange { at: 1, index: 2, rows: 2 }));
        assert_eq!(check_parts(&[0], &[-1], &[5]), Err(RowOutOfRange { at: 0, index: -1, rows: 5 }));
    }

    #[test]
    fn windows_may_overlap() {
        let src: Vec<u8> = (0..=250).collect();
        for (stride, width) in [(1, 7), (5, 5), (9, 4), (3, 100), (7, 0)] {
            let count = (src.len() - width) / stride + 1;
            assert!(windows_fit(count, stride, width, src.len()));
            let indices: Vec<i64> = (0..50).map(|i| i * 11 % count as i64).collect();
            let mut dst = vec![0; indices.len() * width];
            // SAFETY: the indices are below `count`, whose windows fit; dst has room for each.
            unsafe { copy_windows(src.as_ptr(), &indices, stride, width, dst.as_mut_ptr()) };
            let expected: Vec<u8> =
                indices.iter().flat_map(|&i| &src[i as usize * stride..][..width]).copied().collect();
            assert_eq!(dst, expected, "stride={stride} width={width}");
        }
    }

    #[test]
    fn windows_beyond_the_end_do_not_fit() {
        assert!(windows_fit(3, 4, 5, 13));
        assert!(!windows_fit(3, 4, 5, 12));
        assert!(windows_fit(0, 4, 5, 0));
        assert!(!windows_fit(usize::MAX, 4, 5, 100));
    }

    #[test]
    fn a_missing_row_is_named() {
        assert_eq!(check(&[0, 9, 10], 10), Err(RowOutOfRange { at: 2, index: 10, rows: 10 }));
        assert_eq!(check(&[-1], 10), Err(RowOutOfRange { at: 0, index: -1, rows: 10 }));
        assert_eq!(check(&[0], 0), Err(RowOutOfRange { at: 0, index: 0, rows: 0 }));
        assert_eq!(check(&[], 0), Ok(()));
    }
}
