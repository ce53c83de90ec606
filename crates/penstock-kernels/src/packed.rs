//! Rows of bytes that lie in one buffer, row i from `starts[i]` to `stops[i]`.

/// The bytes of all rows together; None where a row does not lie inside the `bytes` there are.
pub fn total(bytes: usize, starts: &[i64], stops: &[i64]) -> Option<usize> {
    if starts.len() != stops.len() {
        return None;
    }
    starts.iter().zip(stops).try_fold(0usize, |sum, (&start, &stop)| {
        let (start, stop) = (usize::try_from(start).ok()?, usize::try_from(stop).ok()?);
        if start > stop || stop > bytes {
            return None;
        }
        sum.checked_add(stop - start)
    })
}

/// The rows laid one after another in `out`, which is empty; `bounds` is told where each ends.
///
/// The rows lie inside `data`, as `total` says.
pub fn gather(data: &[u8], starts: &[i64], stops: &[i64], out: &mut Vec<u8>, mut ends: impl FnMut(usize)) {
    for (&start, &stop) in starts.iter().zip(stops) {
        out.extend_from_slice(&data[start as usize..stop as usize]);
        ends(out.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_one_another() {
        let (mut out, mut ends) = (Vec::new(), Vec::new());
        gather(b"abcdef", &[4, 0, 2, 1], &[6, 0, 3, 3], &mut out, |end| ends.push(end));
        assert_eq!((out.as_slice(), ends), (&b"efcbc"[..], vec![2, 2, 3, 5]));
    }

    #[test]
    fn rows_that_lie_outside_have_no_total() {
        assert_eq!(total(6, &[4, 0, 6], &[6, 0, 6]), Some(2));
        for (start, stop) in [(-1, 2), (2, 1), (5, 7), (0, -1), (i64::MIN, i64::MAX)] {
            assert_eq!(total(6, &[start], &[stop]), None);
        }
        assert_eq!(total(6, &[0], &[]), None);
        assert_eq!(total(6, &[], &[]), Some(0));
    }
}
