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

#[cfg(test)]
mod tests {
    use super::*;

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
