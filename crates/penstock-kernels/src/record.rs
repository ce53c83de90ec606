//! TFRecord framing: the length of the data (u64), the masked CRC-32C of those 8 bytes (u32), the data, and its masked
//! CRC-32C (u32), all little-endian.
//!
//! Law: nothing is read past what is there, and no memory is taken for what a length claims.
//! Source: tensorflow/core/lib/io/record_writer.h.

use std::io::Result;

use crate::gather::prefetch_bytes;

/// Bytes before the data, and after it.
pub const HEADER: usize = 12;
pub const FOOTER: usize = 4;
const FRAME: u64 = (HEADER + FOOTER) as u64;

/// Bytes to look through at once for where records lie.
const WINDOW: usize = 1 << 18;

/// What is wrong with a record. But for `Data`, where the next one begins is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The checksum of its length is not the stored one.
    Length { stored: u32, computed: u32 },
    /// The checksum of its data is not the stored one.
    Data { stored: u32, computed: u32 },
    /// It takes more bytes than are left, its frame among them.
    Cut { left: u64, taken: u64 },
    /// Its length is not that of its place.
    Other { length: u64, taken: u64 },
}

/// CRC-32C as TFRecord stores it: turned, and a constant added, so that data which holds checksums has a good one too.
pub fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// What stands before and after `data` in a record of it.
pub fn frame(data: &[u8]) -> ([u8; HEADER], [u8; FOOTER]) {
    let length = (data.len() as u64).to_le_bytes();
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&length);
    header[8..].copy_from_slice(&masked_crc(&length).to_le_bytes());
    (header, masked_crc(data).to_le_bytes())
}

/// The length that a header says, if it fits its checksum.
fn length_of(header: &[u8; HEADER]) -> std::result::Result<u64, Fault> {
    let (length, crc) = header.split_at(8);
    let (stored, computed) = (word(crc), masked_crc(length));
    if stored != computed {
        return Err(Fault::Length { stored, computed });
    }
    Ok(u64::from(word(length)) | u64::from(word(&length[4..])) << 32)
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn check_data(data: &[u8], footer: &[u8]) -> Option<Fault> {
    let (stored, computed) = (word(footer), masked_crc(data));
    (stored != computed).then_some(Fault::Data { stored, computed })
}

/// The records found in some bytes of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Where the data of each begins and ends, in these bytes.
    pub starts: Vec<i64>,
    pub stops: Vec<i64>,
    /// What is wrong, and where in these bytes the record begins.
    pub faults: Vec<(usize, Fault)>,
    /// Nothing can follow the last fault.
    pub ended: bool,
    /// Bytes that were looked through; the next record begins there.
    pub consumed: usize,
    /// Bytes of that record, as far as is known.
    pub wanted: u64,
}

/// The records that lie whole in `bytes`, the first of which begins a record.
///
/// `left`: bytes of the file from there on, `u64::MAX` if unknown. `verify`: check the data too. `skips`: leave out
/// records whose data is bad, and go on; else the first fault ends it.
pub fn scan(bytes: &[u8], left: u64, verify: bool, skips: bool) -> Found {
    let mut found = Found::default();
    loop {
        let at = found.consumed;
        let rest = &bytes[at..];
        let Some(header) = rest.first_chunk::<HEADER>() else {
            found.wanted = HEADER as u64;
            return found;
        };
        let remaining = left.saturating_sub(at as u64);
        let taken = length_of(header).and_then(|length| taken(length, remaining));
        let taken = match taken {
            Ok(taken) if taken > rest.len() as u64 => {
                found.wanted = taken;
                return found;
            }
            Ok(taken) => taken as usize,
            Err(fault) => {
                found.faults.push((at, fault));
                found.ended = true;
                return found;
            }
        };
        let (data, footer) = rest[HEADER..taken].split_at(taken - HEADER - FOOTER);
        let fault = if verify { check_data(data, footer) } else { None };
        match fault {
            None => {
                found.starts.push((at + HEADER) as i64);
                found.stops.push((at + taken - FOOTER) as i64);
            }
            Some(fault) => {
                found.faults.push((at, fault));
                if !skips {
                    found.ended = true;
                    return found;
                }
            }
        }
        found.consumed = at + taken;
    }
}

/// The bytes that a record of `length` takes, if so many are left.
fn taken(length: u64, left: u64) -> std::result::Result<u64, Fault> {
    let taken = length.saturating_add(FRAME);
    if taken > left {
        return Err(Fault::Cut { left, taken });
    }
    Ok(taken)
}

/// Where the records of a file lie, by their lengths alone: `visit` is told where each one ends.
///
/// `read` fills a buffer from an offset. From `start` on, `count` records at most. Gives what is wrong, and where; of
/// data nothing is said.
pub fn walk(
    mut read: impl FnMut(&mut [u8], u64) -> Result<()>,
    start: u64,
    size: u64,
    count: u64,
    mut visit: impl FnMut(u64),
) -> Result<Option<(u64, Fault)>> {
    let mut window = vec![0; WINDOW.min(size as usize)];
    let (mut from, mut held) = (start, 0);
    let (mut at, mut last) = (start, 0);
    for _ in 0..count {
        if at >= size {
            break;
        }
        let left = size - at;
        if left < HEADER as u64 {
            return Ok(Some((at, Fault::Cut { left, taken: HEADER as u64 })));
        }
        if at + HEADER as u64 > from + held as u64 {
            // Of records that are larger than the window only the headers are read.
            let most = if last > WINDOW as u64 { HEADER } else { window.len() };
            held = (most as u64).min(left) as usize;
            from = at;
            read(&mut window[..held], at)?;
        }
        let inside = (at - from) as usize;
        let header = window[inside..].first_chunk::<HEADER>().expect("held above");
        match length_of(header).and_then(|length| taken(length, left)) {
            Ok(taken) => last = taken,
            Err(fault) => return Ok(Some((at, fault))),
        }
        at += last;
        visit(at);
    }
    Ok(None)
}

/// Check records that were read one after another into `bytes`, each with its frame: record i takes `sizes[i]` bytes.
///
/// Gives where the data of each begins and ends, up to the first that is wrong, and what is wrong with that one.
pub fn check(bytes: &[u8], sizes: &[u64], verify: bool) -> (Vec<i64>, Vec<i64>, Option<Fault>) {
    let (mut starts, mut stops) = (Vec::with_capacity(sizes.len()), Vec::with_capacity(sizes.len()));
    let mut at = 0;
    for &size in sizes {
        let record = &bytes[at..at + size as usize];
        let fault = match record.first_chunk::<HEADER>().map(length_of) {
            Some(Ok(length)) if length.checked_add(FRAME) == Some(size) => {
                let (data, footer) = record[HEADER..].split_at(length as usize);
                if verify {
                    check_data(data, footer)
                } else {
                    None
                }
            }
            Some(Ok(length)) => Some(Fault::Other { length, taken: size }),
            Some(Err(fault)) => Some(fault),
            None => Some(Fault::Cut { left: size, taken: HEADER as u64 }),
        };
        if fault.is_some() {
            return (starts, stops, fault);
        }
        starts.push((at + HEADER) as i64);
        at += size as usize;
        stops.push((at - FOOTER) as i64);
    }
    (starts, stops, None)
}

/// Rows between the one that is copied and the one whose bytes are asked for.
const ROWS_AHEAD: usize = 2;

/// The data of the records at some places of mapped files: row i is from `starts[i]` to `stops[i]` of `files[numbers[i]]`.
///
/// Gives them one after another, where each ends, up to the first that is wrong, and what is wrong with that one. None:
/// there is no memory for them, or there are fewer files.
#[allow(clippy::type_complexity, reason = "what it gives is said above")]
pub fn gather(
    files: &[&[u8]],
    numbers: &[i64],
    starts: &[u64],
    stops: &[u64],
    verify: bool,
) -> Option<(Vec<u8>, Vec<i64>, Option<Fault>)> {
    let (mut out, mut ends) = (Vec::new(), Vec::with_capacity(starts.len() + 1));
    let inside = |row: usize| -> Option<(&[u8], u64)> {
        let file = *files.get(usize::try_from(numbers[row]).ok()?)?;
        let rest = usize::try_from(starts[row]).ok().and_then(|start| file.get(start..)).unwrap_or_default();
        Some((rest, stops[row].saturating_sub(starts[row])))
    };
    let mut bytes = 0usize;
    for row in 0..starts.len() {
        let (rest, size) = inside(row)?;
        bytes = bytes.checked_add(rest.len().min(size.try_into().unwrap_or(usize::MAX)))?;
    }
    out.try_reserve_exact(bytes).ok()?;
    ends.push(0);
    for row in 0..starts.len() {
        let (rest, size) = inside(row)?;
        if row + ROWS_AHEAD < starts.len() {
            let (next, length) = inside(row + ROWS_AHEAD)?; // a record at random is in no cache
            prefetch_bytes(&next[..next.len().min(usize::try_from(length).unwrap_or(usize::MAX))]);
        }
        let fault = match rest.first_chunk::<HEADER>() {
            None => Some(Fault::Cut { left: rest.len() as u64, taken: HEADER as u64 }),
            Some(header) => match length_of(header) {
                Err(fault) => Some(fault),
                Ok(length) if length.checked_add(FRAME) != Some(size) => Some(Fault::Other { length, taken: size }),
                Ok(_) if size > rest.len() as u64 => Some(Fault::Cut { left: rest.len() as u64, taken: size }),
                Ok(length) => {
                    let (data, footer) = rest[HEADER..size as usize].split_at(length as usize);
                    let at = out.len();
                    out.extend_from_slice(data);
                    if verify {
                        check_data(&out[at..], footer)
                    } else {
                        None
                    }
                }
            },
        };
        if fault.is_some() {
            return Some((out, ends, fault));
        }
        ends.push(out.len() as i64);
    }
    Some((out, ends, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(records: &[&[u8]]) -> Vec<u8> {
        let mut file = Vec::new();
        for data in records {
            let (header, footer) = frame(data);
            file.extend_from_slice(&header);
            file.extend_from_slice(data);
            file.extend_from_slice(&footer);
        }
        file
    }

    fn bounds(file: &[u8]) -> (Vec<u64>, Option<(u64, Fault)>) {
        let mut ends = Vec::new();
        let read = |out: &mut [u8], at: u64| {
            out.copy_from_slice(&file[at as usize..][..out.len()]);
            Ok(())
        };
        let fault = walk(read, 0, file.len() as u64, u64::MAX, |end| ends.push(end)).unwrap();
        (ends, fault)
    }

    #[test]
    fn checksums_are_those_of_tensorflow() {
        assert_eq!(masked_crc(b""), 0xa282_ead8);
        assert_eq!(masked_crc(b"123456789"), 0xe306_9283_u32.rotate_right(15).wrapping_add(0xa282_ead8));
    }

    #[test]
    fn records_are_found_however_the_bytes_are_cut() {
        let file = file_of(&[b"one", b"", b"three"]);
        let whole = scan(&file, file.len() as u64, true, false);
        assert_eq!((whole.starts.len(), whole.consumed, whole.ended), (3, file.len(), false));
        for cut in 0..file.len() {
            let found = scan(&file[..cut], file.len() as u64, true, false);
            assert!(found.faults.is_empty());
            assert!(found.wanted as usize > cut - found.consumed);
            assert_eq!(found.stops, whole.stops[..found.stops.len()]);
        }
        assert_eq!(bounds(&file), (vec![19, 35, 56], None));
    }

    #[test]
    fn a_bad_checksum_of_data_ends_it_or_is_left_out() {
        let mut file = file_of(&[b"one", b"two", b"three"]);
        file[19 + HEADER] ^= 1;
        let found = scan(&file, u64::MAX, true, false);
        assert_eq!((found.starts.len(), found.consumed, found.ended), (1, 19, true));
        assert!(matches!(found.faults[..], [(19, Fault::Data { .. })]));
        let found = scan(&file, u64::MAX, true, true);
        assert_eq!((found.starts.len(), found.consumed, found.ended), (2, file.len(), false));
        assert_eq!(scan(&file, u64::MAX, false, false).starts.len(), 3);
        assert_eq!(bounds(&file).1, None);
    }

    #[test]
    fn a_bad_checksum_of_a_length_ends_it() {
        let mut file = file_of(&[b"one", b"two"]);
        file[19 + 9] ^= 1;
        let found = scan(&file, u64::MAX, false, true);
        assert!(found.ended && matches!(found.faults[..], [(19, Fault::Length { .. })]));
        assert!(matches!(bounds(&file), (ends, Some((19, Fault::Length { .. }))) if ends == [19]));
    }

    #[test]
    fn a_length_past_the_end_is_told_before_anything_is_read() {
        let mut file = frame(b"").0.to_vec();
        file[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        let crc = masked_crc(&file[..8]).to_le_bytes();
        file[8..].copy_from_slice(&crc);
        let fault = Fault::Cut { left: 12, taken: u64::MAX };
        assert_eq!(scan(&file, 12, true, false).faults, [(0, fault)]);
        assert_eq!(bounds(&file).1, Some((0, fault)));
        assert_eq!(scan(&file, u64::MAX, true, false).wanted, u64::MAX);
    }

    #[test]
    fn records_larger_than_the_window_are_stepped_over() {
        let large = vec![7; 3 * WINDOW];
        let file = file_of(&[b"a", &large, b"b", &large, &large, b"", b"c"]);
        let (ends, fault) = bounds(&file);
        assert_eq!((ends.len(), *ends.last().unwrap(), fault), (7, file.len() as u64, None));
    }

    #[test]
    fn mapped_records_are_gathered() {
        let (one, two) = (file_of(&[b"one", b"three"]), file_of(&[b"4"]));
        let files: [&[u8]; 2] = [&one, &two];
        let (out, ends, fault) = gather(&files, &[1, 0, 0], &[0, 19, 0], &[17, 40, 19], true).unwrap();
        assert_eq!((out.as_slice(), ends, fault), (&b"4threeone"[..], vec![0, 1, 6, 9], None));
        for (start, stop) in [(0, 17), (0, 2), (9, 3), (30, 40), (99, 200), (0, u64::MAX), (u64::MAX, u64::MAX)] {
            let (_, ends, fault) = gather(&files, &[1, 0], &[0, start], &[17, stop], true).unwrap();
            assert!(ends.len() == 2 && fault.is_some(), "{start} {stop}");
        }
        assert!(gather(&files, &[2], &[0], &[17], true).is_none());
        assert!(gather(&files, &[-1], &[0], &[17], true).is_none());
    }

    #[test]
    fn what_lies_elsewhere_is_no_record() {
        let file = file_of(&[b"one", b"three"]);
        let (starts, stops, fault) = check(&file, &[19, 21], true);
        assert_eq!((starts, stops, fault), (vec![12, 31], vec![15, 36], None));
        assert_eq!(check(&file, &[40], true).2, Some(Fault::Other { length: 3, taken: 40 }));
        assert_eq!(check(&file, &[19, 4], true).0.len(), 1);
    }
}
