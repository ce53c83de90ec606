//! Pieces of one file, read by position: records and lines, in any order.

use std::fs::File;
use std::io::Result;

use crate::meter::metered;

/// Bytes to scan for newlines at once.
const CHUNK: usize = 1 << 20;

/// Read `lengths[i]` bytes from `starts[i]`, one piece after another, into `out`, which has the length of their sum.
///
/// Pieces that follow one another in the file are read at once. A piece that the file does not hold is an error.
pub fn read_pieces(file: &File, starts: &[u64], lengths: &[u64], out: &mut [u8]) -> Result<()> {
    let mut rest = out;
    let mut i = 0;
    while i < starts.len() {
        let start = starts[i];
        let mut end = start.saturating_add(lengths[i]);
        i += 1;
        while i < starts.len() && starts[i] == end {
            end = end.saturating_add(lengths[i]);
            i += 1;
        }
        let (piece, after) = rest.split_at_mut((end - start) as usize);
        read_exact_at(file, piece, start)?;
        rest = after;
    }
    Ok(())
}

/// Where each line of the file begins, and where the last one ends: line i is the bytes from `bounds[i]` to
/// `bounds[i + 1]`, its newline among them. Bytes after the last newline are a line too.
pub fn line_bounds(file: &File, size: u64) -> Result<Vec<u64>> {
    let mut bounds = vec![0];
    let mut buffer = vec![0; CHUNK.min(size as usize)];
    let mut position = 0;
    while position < size {
        let wanted = (buffer.len() as u64).min(size - position) as usize;
        let chunk = &mut buffer[..wanted];
        read_exact_at(file, chunk, position)?;
        bounds.extend(memchr::memchr_iter(b'\n', chunk).map(|at| position + at as u64 + 1));
        position += wanted as u64;
    }
    if bounds.last() != Some(&size) {
        bounds.push(size);
    }
    Ok(bounds)
}

/// Fill `out` from byte `offset` of the file on.
#[cfg(unix)]
pub fn read_exact_at(file: &File, out: &mut [u8], offset: u64) -> Result<()> {
    metered(out.len(), || std::os::unix::fs::FileExt::read_exact_at(file, out, offset))
}

#[cfg(windows)]
pub fn read_exact_at(file: &File, mut out: &mut [u8], mut offset: u64) -> Result<()> {
    while !out.is_empty() {
        let read = metered(0, || std::os::windows::fs::FileExt::seek_read(file, out, offset))?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        out = &mut out[read..];
        offset += read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Write};

    fn file_of(name: &str, bytes: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("penstock-pieces-{}-{name}", std::process::id()));
        File::create(&path).unwrap().write_all(bytes).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }

    #[test]
    fn pieces_come_in_the_order_asked() {
        let file = file_of("order", b"0123456789");
        let (starts, lengths) = ([7, 0, 2, 5, 5, 10], [3, 2, 3, 0, 1, 0]);
        let mut out = vec![0; lengths.iter().sum::<u64>() as usize];
        read_pieces(&file, &starts, &lengths, &mut out).unwrap();
        assert_eq!(out, b"789012345");
    }

    #[test]
    fn a_piece_beyond_the_end_is_an_error() {
        let file = file_of("beyond", b"0123");
        let error = read_pieces(&file, &[2], &[3], &mut [0; 3]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn lines_end_at_newlines_and_at_the_end() {
        for (text, expected) in [
            (&b""[..], vec![0]),
            (b"\n", vec![0, 1]),
            (b"a", vec![0, 1]),
            (b"a\n\nbc\n", vec![0, 2, 3, 6]),
            (b"a\n\nbc", vec![0, 2, 3, 5]),
        ] {
            assert_eq!(line_bounds(&file_of("lines", text), text.len() as u64).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_may_cross_chunks() {
        let mut text = vec![b'x'; 3 * CHUNK];
        let ends = [CHUNK - 1, CHUNK, 2 * CHUNK + 5];
        ends.iter().for_each(|&at| text[at] = b'\n');
        let bounds = line_bounds(&file_of("chunks", &text), text.len() as u64).unwrap();
        let expected: Vec<u64> =
            [0].into_iter().chain(ends.iter().map(|&at| at as u64 + 1)).chain([text.len() as u64]).collect();
        assert_eq!(bounds, expected);
    }
}
