//! Words by number: a table that is made once and asked by every thread.
//!
//! Open addressing; an entry holds the first bytes of its word, so that most words are compared where they are found, in
//! one line of the cache. The table is the user's own, so its hash need not withstand words that are made to collide.

use std::ops::Range;

use super::fingerprint::fingerprint64;

const INLINE: usize = 8;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 by the golden ratio

/// The first bytes of a word, how long it is, and its number. `length` 0 with number `FREE`: no word.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    length: u32,
    number: u32,
}

const FREE: u32 = u32::MAX;

/// Words, each once, numbered in the order they were given.
#[derive(Debug, Default)]
pub struct Vocabulary {
    entries: Vec<Entry>,
    shift: u32,
    /// The words end to end; word n ends before ends[n].
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Vocabulary {
    /// `Err`: the places of two words that are the same, or (n, n) where word n has no number, or is 4 GB long.
    pub fn new<'a>(words: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Self, (usize, usize)> {
        let bits = (words.len().max(4) * 2).next_power_of_two().trailing_zeros();
        let free = Entry { start: 0, length: 0, number: FREE };
        let mut made = Self { entries: vec![free; 1 << bits], shift: 64 - bits, bytes: Vec::new(), ends: Vec::new() };
        for (place, word) in words.enumerate() {
            let number = u32::try_from(place).ok().filter(|&number| number < FREE).ok_or((place, place))?;
            let length = u32::try_from(word.len()).map_err(|_| (place, place))?;
            let start = first_bytes(word);
            match made.find(word, start) {
                Ok(before) => return Err((before as usize, place)),
                Err(slot) => made.entries[slot] = Entry { start, length, number },
            }
            made.bytes.extend_from_slice(word);
            made.ends.push(made.bytes.len());
        }
        Ok(made)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn number(&self, word: &[u8]) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        self.find(word, first_bytes(word)).ok()
    }

    /// As `id`, of the word that `bytes` holds at `place`: quicker where eight bytes can be read from there.
    #[inline]
    pub fn id_at(&self, bytes: &[u8], place: Range<usize>, missing: i64, buckets: u64) -> i64 {
        let length = place.end - place.start;
        let word = &bytes[place.clone()];
        let start = match bytes.get(place.start..place.start + INLINE) {
            Some(eight) if length < INLINE => {
                u64::from_le_bytes(eight.try_into().expect("eight bytes")) & ((1 << (8 * length)) - 1)
            }
            _ => first_bytes(word),
        };
        if self.entries.is_empty() {
            return self.id(word, missing, buckets);
        }
        match self.find(word, start) {
            Ok(number) => i64::from(number),
            Err(_) if buckets == 0 => missing,
            Err(_) => self.bucket(word, buckets),
        }
    }

    fn bucket(&self, word: &[u8], buckets: u64) -> i64 {
        self.len() as i64 + (fingerprint64(word) % buckets) as i64
    }

    pub fn contains(&self, word: &[u8]) -> bool {
        self.number(word).is_some()
    }

    /// The number of `word`; of one that is not here, `missing`, or with `buckets` above 0 one of so many numbers that
    /// follow those of the words, by its fingerprint.
    pub fn id(&self, word: &[u8], missing: i64, buckets: u64) -> i64 {
        match self.number(word) {
            Some(number) => i64::from(number),
            None if buckets == 0 => missing,
            None => self.bucket(word, buckets),
        }
    }

    /// The number of a word that begins with `start`, or the free slot where it would stand. Half of all slots are free.
    #[inline]
    fn find(&self, word: &[u8], start: u64) -> Result<u32, usize> {
        let mask = self.entries.len() - 1;
        let mut slot = (hash(word, start) >> self.shift) as usize;
        loop {
            let entry = self.entries[slot & mask];
            if entry.number == FREE {
                return Err(slot & mask);
            }
            if entry.start == start
                && entry.length as usize == word.len()
                && (word.len() <= INLINE || self.word(entry.number as usize) == word)
            {
                return Ok(entry.number);
            }
            slot += 1;
        }
    }

    fn word(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }
}

/// Up to eight bytes from the beginning of `word`, zeros behind them.
#[inline]
fn first_bytes(word: &[u8]) -> u64 {
    let half = |at: usize| u64::from(u32::from_le_bytes(word[at..at + 4].try_into().expect("four bytes")));
    match word.len() {
        0 => 0,
        1..=3 => {
            let (middle, last) = (word.len() / 2, word.len() - 1);
            u64::from(word[0]) | u64::from(word[middle]) << (8 * middle) | u64::from(word[last]) << (8 * last)
        }
        length @ 4..=7 => half(0) | half(length - 4) << (8 * (length - 4)),
        _ => u64::from_le_bytes(word[..8].try_into().expect("eight bytes")),
    }
}

#[inline]
fn hash(word: &[u8], start: u64) -> u64 {
    let mut mixed = folded(start ^ (word.len() as u64).wrapping_mul(FACTOR));
    for piece in word.get(INLINE..).unwrap_or(&[]).chunks(INLINE) {
        mixed = folded(mixed ^ first_bytes(piece));
    }
    mixed.wrapping_mul(FACTOR)
}

#[inline]
fn folded(value: u64) -> u64 {
    let product = u128::from(value) * 0xa076_1d64_78bd_642f_u128;
    (product >> 64) as u64 ^ product as u64 ^ value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbered_in_order_and_others_hashed() {
        let words: [&[u8]; 3] = [b"a", b"", b"b"];
        let table = Vocabulary::new(words.into_iter()).unwrap();
        assert_eq!([b"b", &b""[..], b"a"].map(|word| table.id(word, -1, 0)), [2, 1, 0]);
        assert_eq!(table.id(b"c", -1, 0), -1);
        assert_eq!(table.id(b"c", -1, 7), 3 + (fingerprint64(b"c") % 7) as i64);
        assert_eq!(Vocabulary::default().number(b"a"), None);
        assert_eq!(Vocabulary::new([].into_iter()).unwrap().number(b""), None);
    }

    #[test]
    fn a_word_that_comes_twice_is_told() {
        let words: [&[u8]; 3] = [b"a", b"b", b"a"];
        assert_eq!(Vocabulary::new(words.into_iter()).unwrap_err(), (0, 2));
    }

    #[test]
    fn words_that_are_nearly_the_same_are_told_apart() {
        let all: Vec<Vec<u8>> = (0..40)
            .flat_map(|length| [0u8, 1, 255].map(|last| [vec![0; length], vec![last]].concat()))
            .chain((0..3000u32).map(|number| number.to_string().repeat(1 + number as usize % 5).into_bytes()))
            .collect();
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        let table = Vocabulary::new(distinct.iter().map(Vec::as_slice)).unwrap();
        for (number, word) in distinct.iter().enumerate() {
            assert_eq!(table.number(word), Some(number as u32), "{word:?}");
            assert_eq!(table.number(&[word, &b"\x02"[..]].concat()), None);
            let within = [b"ab", word.as_slice(), b"cdefghij"].concat();
            assert_eq!(table.id_at(&within, 2..2 + word.len(), -1, 0), number as i64);
            assert_eq!(table.id_at(&within[..2 + word.len()], 2..2 + word.len(), -1, 0), number as i64);
        }
    }
}
