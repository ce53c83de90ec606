//! Rows of unequal length, each copied to its place.

/// One run of bytes and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub from: *const u8,
    pub bytes: usize,
    pub at: usize,
}

/// Copy every run to `dst + at`.
///
/// # Safety
/// Each run is readable for `bytes` bytes, `dst` writable up to the end of the furthest, and they do not overlap.
pub unsafe fn copy_runs(runs: &[Run], dst: *mut u8) {
    for run in runs {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(run.from, dst.add(run.at), run.bytes) };
    }
}

/// Rows of `width` bytes from `dst` on: each begins with its run, whose `at` counts for nothing, and goes on with `item`.
///
/// # Safety
/// Each run is readable for `bytes` bytes, at most `width`; `dst` is writable for as many rows; they do not overlap.
/// `width` and the length of every run are multiples of the length of `item`, which is not empty.
pub unsafe fn pad_runs(runs: &[Run], width: usize, item: &[u8], dst: *mut u8) {
    for (row, run) in runs.iter().enumerate() {
        // SAFETY: row `row` lies inside dst, and its run inside the row: the caller's promise.
        let rest = unsafe {
            let start = dst.add(row * width);
            std::ptr::copy_nonoverlapping(run.from, start, run.bytes);
            std::slice::from_raw_parts_mut(start.add(run.bytes), width - run.bytes)
        };
        match item.len() {
            1 => rest.fill(item[0]),
            4 => fill::<4>(rest, item),
            8 => fill::<8>(rest, item),
            length => rest.chunks_exact_mut(length).for_each(|place| place.copy_from_slice(item)),
        }
    }
}

fn fill<const N: usize>(rest: &mut [u8], item: &[u8]) {
    let item: [u8; N] = item.try_into().expect("N bytes");
    rest.chunks_exact_mut(N).for_each(|place| place.copy_from_slice(&item));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_filled_up() {
        for item in [&b"-"[..], b"<>", b"abc", b"1234", b"12345678"] {
            let rows: Vec<Vec<u8>> = [2, 0, 3].iter().map(|&count| b"x".repeat(count * item.len())).collect();
            let runs: Vec<Run> = rows.iter().map(|row| Run { from: row.as_ptr(), bytes: row.len(), at: 9 }).collect();
            let mut out = vec![0; 9 * item.len()];
            // SAFETY: three runs of at most three items, out has room for three rows of three.
            unsafe { pad_runs(&runs, 3 * item.len(), item, out.as_mut_ptr()) };
            let expected: Vec<u8> =
                rows.iter().flat_map(|row| [row.clone(), item.repeat(3 - row.len() / item.len())].concat()).collect();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn runs_go_where_they_are_told() {
        let rows: [&[u8]; 3] = [b"abc", b"", b"de"];
        let runs: Vec<Run> =
            rows.iter().zip([4, 0, 1]).map(|(row, at)| Run { from: row.as_ptr(), bytes: row.len(), at }).collect();
        let mut out = *b"--------";
        // SAFETY: the runs are the rows above, and end before out does.
        unsafe { copy_runs(&runs, out.as_mut_ptr()) };
        assert_eq!(&out, b"-de-abc-");
    }
}
