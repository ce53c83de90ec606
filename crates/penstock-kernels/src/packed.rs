//! Rows of bytes that lie in buffers, row i from `starts[i]` to `stops[i]` of buffer `numbers[i]`.

/// Which buffer each row is in; none: all in the first.
pub type Numbers<'a> = Option<&'a [i64]>;

/// The bytes of all rows together; None where a row does not lie inside its buffer.
pub fn total(buffers: &[&[u8]], numbers: Numbers<'_>, starts: &[i64], stops: &[i64]) -> Option<usize> {
    if starts.len() != stops.len() || numbers.is_some_and(|numbers| numbers.len() != starts.len()) {
        return None;
    }
    starts.iter().zip(stops).enumerate().try_fold(0usize, |sum, (row, (&start, &stop))| {
        let (start, stop) = (usize::try_from(start).ok()?, usize::try_from(stop).ok()?);
        let buffer = buffers.get(usize::try_from(number_of(numbers, row)).ok()?)?;
        if start > stop || stop > buffer.len() {
            return None;
        }
        sum.checked_add(stop - start)
    })
}

fn number_of(numbers: Numbers<'_>, row: usize) -> i64 {
    numbers.map_or(0, |numbers| numbers[row])
}

/// The rows, which lie inside their buffers, as `total` says.
pub fn rows<'a>(
    buffers: &'a [&'a [u8]],
    numbers: Numbers<'a>,
    starts: &'a [i64],
    stops: &'a [i64],
) -> impl ExactSizeIterator<Item = &'a [u8]> {
    (0..starts.len())
        .map(move |row| &buffers[number_of(numbers, row) as usize][starts[row] as usize..stops[row] as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_in_their_buffers() {
        let buffers: [&[u8]; 2] = [b"abcdef", b"123"];
        let (starts, stops) = ([4, 0, 2, 1], [6, 0, 3, 3]);
        let found: Vec<&[u8]> = rows(&buffers, None, &starts, &stops).collect();
        assert_eq!(found, [&b"ef"[..], b"", b"c", b"bc"]);
        let numbers = [0, 1, 1, 1];
        assert_eq!(total(&buffers, Some(&numbers), &starts, &stops), Some(5));
        let found: Vec<&[u8]> = rows(&buffers, Some(&numbers), &starts, &stops).collect();
        assert_eq!(found, [&b"ef"[..], b"", b"3", b"23"]);
    }

    #[test]
    fn rows_that_lie_outside_have_no_total() {
        let buffers: [&[u8]; 2] = [b"abcdef", b"123"];
        assert_eq!(total(&buffers, None, &[4, 0, 6], &[6, 0, 6]), Some(2));
        for (start, stop) in [(-1, 2), (2, 1), (5, 7), (0, -1), (i64::MIN, i64::MAX)] {
            assert_eq!(total(&buffers, None, &[start], &[stop]), None);
        }
        for number in [-1, 2, i64::MAX] {
            assert_eq!(total(&buffers, Some(&[number]), &[0], &[0]), None);
        }
        assert_eq!(total(&buffers, Some(&[1]), &[0], &[4]), None);
        assert_eq!(total(&buffers, None, &[0], &[]), None);
        assert_eq!(total(&buffers, Some(&[]), &[0], &[0]), None);
        assert_eq!(total(&[], None, &[], &[]), Some(0));
    }
}
