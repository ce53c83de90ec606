//! Words by number: a table that is made once and asked by every thread.

use hashbrown::HashMap;

use super::fingerprint::fingerprint64;

/// Words, each once, numbered in the order they were given.
#[derive(Debug, Default)]
pub struct Vocabulary {
    numbers: HashMap<Box<[u8]>, u32>,
}

impl Vocabulary {
    /// `Err`: the places of two words that are the same, or (n, n) where word n has no number below 2^32.
    pub fn new<'a>(words: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Self, (usize, usize)> {
        let mut numbers = HashMap::with_capacity(words.len());
        for (place, word) in words.enumerate() {
            let number = u32::try_from(place).map_err(|_| (place, place))?;
            if let Some(before) = numbers.insert(word.into(), number) {
                return Err((before as usize, place));
            }
        }
        Ok(Self { numbers })
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub fn number(&self, word: &[u8]) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    pub fn contains(&self, word: &[u8]) -> bool {
        self.numbers.contains_key(word)
    }

    /// The number of `word`; of one that is not here, `missing`, or with `buckets` above 0 one of so many numbers that
    /// follow those of the words, by its fingerprint.
    pub fn id(&self, word: &[u8], missing: i64, buckets: u64) -> i64 {
        match self.number(word) {
            Some(number) => i64::from(number),
            None if buckets == 0 => missing,
            None => self.len() as i64 + (fingerprint64(word) % buckets) as i64,
        }
    }
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
    }

    #[test]
    fn a_word_that_comes_twice_is_told() {
        let words: [&[u8]; 3] = [b"a", b"b", b"a"];
        assert_eq!(Vocabulary::new(words.into_iter()).unwrap_err(), (0, 2));
    }
}
