//! Files, whole or by range.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::path::Path;

use crate::meter::metered;

/// A file opened at `offset`, and how many bytes to read: `length`, or all that follow.
///
/// A range that the file does not hold is an error; so is anything but a regular file, whose size means nothing.
pub fn open_range(path: &Path, offset: u64, length: Option<u64>) -> Result<(File, usize)> {
    let mut file = metered(0, || File::open(path))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let size = metadata.len();
    let end = length.map_or(Some(size), |length| offset.checked_add(length));
    match end {
        Some(end) if offset <= end && end <= size => {
            if offset > 0 {
                file.seek(SeekFrom::Start(offset))?;
            }
            Ok((file, (end - offset) as usize))
        }
        _ => Err(Error::new(
            ErrorKind::UnexpectedEof,
            match length {
                Some(length) => format!("the file has {size} bytes, asked for {length} from {offset}"),
                None => format!("the file has {size} bytes, asked for those from {offset}"),
            },
        )),
    }
}

/// The bytes of a file, read into the start of `buffer`, which grows and is used again.
pub fn read_whole<'a>(path: &Path, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    let (mut file, size) = open_range(path, 0, None)?;
    if buffer.len() < size {
        *buffer = vec![0; size.next_power_of_two()];
    }
    metered(size, || file.read_exact(&mut buffer[..size]))?;
    Ok(&buffer[..size])
}
