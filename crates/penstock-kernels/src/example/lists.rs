//! The lists of a Feature: bytes, floats, ints; packed and not.

use super::wire::Cursor;
use super::{Kind, Problem, Refusal, Rules, Values};

/// A message that is none: what is wrong, and at which address.
pub(super) struct Broken {
    address: usize,
    what: &'static str,
}

impl Broken {
    pub(super) fn at(place: &[u8], what: &'static str) -> Self {
        Self { address: place.as_ptr() as usize, what }
    }

    /// With the place counted from the start of the record it lies in.
    pub(super) fn in_record(self, record: &[u8]) -> Problem {
        let at = self.address.wrapping_sub(record.as_ptr() as usize).min(record.len());
        Problem::Broken { what: self.what, at }
    }
}

/// The list in a Feature that is not empty. What follows the first list is not looked at, as in TensorFlow.
#[inline(always)]
pub(super) fn list_of(feature: &[u8], kind: Kind) -> Result<&[u8], Refusal> {
    let mut cursor = Cursor::new(feature);
    if !cursor.take_tag(kind.tag()) {
        return Err(other_kind(feature));
    }
    let place = cursor;
    Ok(cursor.piece().ok_or(place.broken("a list longer than its feature"))?)
}

#[cold]
fn other_kind(feature: &[u8]) -> Refusal {
    match feature.first().and_then(|&tag| Kind::of_tag(tag)) {
        Some(kind) => Refusal::Problem(Problem::WrongKind(kind)),
        None => Broken::at(feature, UNKNOWN_LIST).into(),
    }
}

/// The number of a feature that holds one, written as everybody writes it; None: look closer.
#[inline(always)]
pub(super) fn lone_int(feature: &[u8]) -> Option<i64> {
    let (head, number) = feature.split_first_chunk::<4>()?;
    let bytes = number.len();
    if !(1..=8).contains(&bytes) || *head != [0x1a, bytes as u8 + 2, 0x0a, bytes as u8] {
        return None;
    }
    let word = word_of(number);
    let ends = !word & 0x8080_8080_8080_8080; // the first byte without its upper bit is to be the last
    if ends.trailing_zeros() as usize != 8 * bytes - 1 {
        return None;
    }
    // Seven bits a byte, put together two, four and eight bytes at a time.
    let word = word & 0x7f7f_7f7f_7f7f_7f7f;
    let word = (word & 0x007f_007f_007f_007f) | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let word = (word & 0x0000_3fff_0000_3fff) | (word & 0x3fff_0000_3fff_0000) >> 2;
    Some(((word & 0x0fff_ffff) | (word & 0x0fff_ffff_0000_0000) >> 4) as i64)
}

/// Likewise of a float.
#[inline(always)]
pub(super) fn lone_float(feature: &[u8]) -> Option<f32> {
    match feature {
        [0x12, 6, 0x0a, 4, a, b, c, d] => Some(f32::from_le_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

/// Up to eight bytes as one word, zeros above them.
#[inline(always)]
pub(super) fn word_of(bytes: &[u8]) -> u64 {
    let count = bytes.len();
    if let Some(first) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*first);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
        return first | last << (8 * (count - 4)); // bytes in both are the same
    }
    if count == 0 {
        return 0;
    }
    let middle = count / 2;
    u64::from(bytes[0]) | u64::from(bytes[middle]) << (8 * middle) | u64::from(bytes[count - 1]) << (8 * (count - 1))
}

pub(super) const UNKNOWN_LIST: &str = "a feature that holds neither bytes nor floats nor ints";
const NO_FLOATS: &str = "no list of floats";
const NO_INTS: &str = "no list of ints";

/// The numbers of a list: how many there are, and the first of them in `row`.
#[inline(always)]
pub(super) fn read_ints(list: &[u8], row: &mut [i64]) -> Result<usize, Broken> {
    let mut count = 0;
    each_int(list, |value| {
        if let Some(place) = row.get_mut(count) {
            *place = value;
        }
        count += 1;
    })?;
    Ok(count)
}

#[inline(always)]
fn each_int(list: &[u8], mut put: impl FnMut(i64)) -> Result<(), Broken> {
    let mut cursor = Cursor::new(list);
    if cursor.take_tag(0x0a) {
        let place = cursor;
        let mut values = Cursor::new(cursor.piece().ok_or(place.broken("numbers beyond the end of their list"))?);
        while !values.is_at_end() {
            put(values.varint().ok_or(values.broken(NO_INTS))? as i64);
        }
        return Ok(());
    }
    while !cursor.is_at_end() {
        let place = cursor;
        let value = if cursor.take_tag(0x08) { cursor.varint() } else { None };
        put(value.ok_or(place.broken(NO_INTS))? as i64);
    }
    Ok(())
}

/// Likewise. Packed floats may be followed by a part of one, except in a SequenceExample.
#[inline(always)]
pub(super) fn read_floats(list: &[u8], rules: Rules, row: &mut [f32]) -> Result<usize, Broken> {
    match floats_of(list, rules)? {
        Floats::Packed(values) => {
            for (place, value) in row.iter_mut().zip(values.chunks_exact(4)) {
                *place = f32::from_le_bytes([value[0], value[1], value[2], value[3]]);
            }
            Ok(values.len() / 4)
        }
        Floats::Apart(values) => {
            for (place, value) in row.iter_mut().zip(values.chunks_exact(5)) {
                *place = f32::from_le_bytes([value[1], value[2], value[3], value[4]]);
            }
            Ok(values.len() / 5)
        }
    }
}

/// The floats of a list: one after another, or each behind its tag.
enum Floats<'r> {
    Packed(&'r [u8]),
    Apart(&'r [u8]),
}

#[inline(always)]
fn floats_of(list: &[u8], rules: Rules) -> Result<Floats<'_>, Broken> {
    let mut cursor = Cursor::new(list);
    if cursor.take_tag(0x0a) {
        let place = cursor;
        let values = cursor.piece().ok_or(place.broken("numbers beyond the end of their list"))?;
        if rules == Rules::Sequence && values.len() % 4 != 0 {
            return Err(place.broken(NO_FLOATS));
        }
        return Ok(Floats::Packed(values));
    }
    if !list.len().is_multiple_of(5) || list.iter().step_by(5).any(|&tag| tag != 0x0d) {
        return Err(cursor.broken(NO_FLOATS));
    }
    Ok(Floats::Apart(list))
}

/// Append the values of a list; how many there are.
pub(super) fn append<'r>(list: &'r [u8], rules: Rules, values: &mut Values<'_, 'r>) -> Result<usize, Refusal> {
    match values {
        Values::Ints(ints) => {
            let before = ints.len();
            reserve(ints, list.iter().filter(|&&byte| byte < 0x80).count())?; // each number ends with such a byte
            each_int(list, |value| ints.push(value))?;
            Ok(ints.len() - before)
        }
        Values::Floats(floats) => {
            let (bytes, width) = match floats_of(list, rules)? {
                Floats::Packed(bytes) => (bytes, 4),
                Floats::Apart(bytes) => (bytes, 5),
            };
            let count = bytes.len() / width;
            reserve(floats, count)?;
            let values = bytes.chunks_exact(width).map(|value| {
                let value = &value[width - 4..];
                f32::from_le_bytes([value[0], value[1], value[2], value[3]])
            });
            floats.extend(values);
            Ok(count)
        }
        Values::Texts(texts) => {
            let before = texts.len();
            let mut cursor = Cursor::new(list);
            while !cursor.is_at_end() {
                let place = cursor;
                let text = if cursor.take_tag(0x0a) { cursor.piece() } else { None };
                let text = text.ok_or(place.broken("no list of bytes"))?;
                reserve(texts, 1)?;
                texts.push(text);
            }
            Ok(texts.len() - before)
        }
        Values::IntRows(_) | Values::FloatRows(_) => unreachable!("rows have their place"),
    }
}

fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), Refusal> {
    values.try_reserve(more).map_err(|_| Refusal::Problem(Problem::NoMemory))
}
