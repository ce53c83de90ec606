//! Which field an entry of a record belongs to.
//!
//! Records of one file mostly hold the same keys in the same order. So each key remembers which one came behind it last:
//! that one is compared first, then the one behind that (a feature was left out), and only then is it looked up.

use std::collections::HashMap;

use super::lists::{word_of, Broken, UNKNOWN_LIST};
use super::wire::Cursor;
use super::{Field, Form, Kind, Rules};

/// Keys that are in no field, remembered in one call.
const UNKNOWN_KEYS: usize = 1024;

/// The fields to parse, and a table of their names.
#[derive(Debug)]
pub struct Schema {
    fields: Vec<Field>,
    /// Open addressing: a field's number plus one, 0 for an empty place; at most half full.
    table: Vec<u32>,
}

impl Schema {
    /// None: two fields of one name.
    pub fn new(fields: Vec<Field>) -> Option<Self> {
        let mut table = vec![0; (2 * fields.len()).next_power_of_two().max(2)];
        for (number, field) in fields.iter().enumerate() {
            let place = place_of(&table, &fields, &field.name);
            if table[place] != 0 {
                return None;
            }
            table[place] = number as u32 + 1;
        }
        Some(Self { fields, table })
    }

    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        self.table[place_of(&self.table, &self.fields, key)].checked_sub(1).map(|number| number as usize)
    }
}

/// Where `key` stands in the table, or would stand.
fn place_of(table: &[u32], fields: &[Field], key: &[u8]) -> usize {
    let mask = table.len() - 1;
    let mut place = hash(key) as usize & mask;
    while table[place] != 0 && fields[table[place] as usize - 1].name != key {
        place = (place + 1) & mask;
    }
    place
}

/// Quick and plain: the table holds the user's names alone, so no file can make them collide.
fn hash(key: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = key.len() as u64;
    let mut parts = key.chunks_exact(8);
    for part in &mut parts {
        let word = part.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        state = (state.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
    let word = parts.remainder().iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    state = (state.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    state ^ state >> 32
}

/// A key, and its first eight bytes as a word: nearly every comparison is one of words.
#[derive(Clone, Copy)]
struct Name<'r> {
    text: &'r [u8],
    word: u64,
}

impl<'r> Name<'r> {
    /// Equal to no key.
    const NONE: Self = Self { text: &[], word: 1 };

    fn new(text: &'r [u8]) -> Self {
        Self { text, word: word_of(text) }
    }

    #[inline(always)]
    fn is(self, text: &[u8]) -> bool {
        self.text.len() == text.len() && self.word == word_of(text) && (text.len() <= 8 || self.text == text)
    }
}

/// The entries of one record, by field; and what is remembered from record to record.
pub(super) struct Keys<'r> {
    schema: &'r Schema,
    rules: Rules,
    found: Vec<Option<&'r [u8]>>,
    /// Keys by number: 0 for none, then the fields', then others.
    names: Vec<Name<'r>>,
    others: HashMap<&'r [u8], u32>,
    behind: Vec<u32>,
}

impl<'r> Keys<'r> {
    pub(super) fn new(schema: &'r Schema, rules: Rules) -> Self {
        let count = schema.fields.len();
        let names = schema.fields.iter().map(|field| Name::new(&field.name));
        let behind = (1..=count as u32).chain([u32::from(count > 0)]).collect();
        let names = std::iter::once(Name::NONE).chain(names).collect();
        Self { schema, rules, found: vec![None; count], names, others: HashMap::new(), behind }
    }

    pub(super) fn clear(&mut self) {
        self.found.fill(None);
    }

    /// The message of a field in this record.
    #[inline(always)]
    pub(super) fn found(&self, field: usize) -> Option<&'r [u8]> {
        self.found[field]
    }

    /// Note the entries of a map: `Features` or `FeatureLists`.
    pub(super) fn collect(&mut self, body: &'r [u8]) -> Result<(), Broken> {
        let mut cursor = Cursor::new(body);
        let mut last = 0;
        while !cursor.is_at_end() {
            let expected = self.behind[last as usize];
            let key;
            if let Some((value, rest)) = expected_entry(cursor.rest(), self.names[expected as usize]) {
                cursor.move_to(rest);
                (last, key) = (expected, value);
            } else {
                let place = cursor;
                let entry = if cursor.take_tag(0x0a) { cursor.piece() } else { None };
                let entry = entry.ok_or(place.broken("an entry of the features that is none, or too long"))?;
                let (name, value) = if self.rules == Rules::Sequence { in_order(entry) } else { in_any_order(entry) }
                    .ok_or(Broken::at(entry, "an entry of the features without a key and a value"))?;
                (last, key) = (self.number_of(name, last), value);
            }
            self.note(last, key)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn note(&mut self, number: u32, value: &'r [u8]) -> Result<(), Broken> {
        let Some(field) = (number as usize).checked_sub(1) else { return Ok(()) };
        let Some(place) = self.found.get_mut(field) else { return Ok(()) };
        if self.rules != Rules::Sequence {
            match value.first() {
                Some(&tag) if Kind::of_tag(tag).is_none() => return Err(Broken::at(value, UNKNOWN_LIST)),
                Some(_) => {}
                None => {
                    if !matches!(self.schema.fields[field].form, Form::Varying { empty_counts: true, .. }) {
                        return Ok(()); // an empty feature is none
                    }
                }
            }
        }
        *place = Some(value);
        Ok(())
    }

    /// The number of a key that follows the key `last`; 0 for one that is in no field, and not remembered.
    fn number_of(&mut self, key: &'r [u8], last: u32) -> u32 {
        let expected = self.behind[last as usize];
        for guess in [expected, self.behind[expected as usize]] {
            if self.names[guess as usize].is(key) {
                return guess;
            }
        }
        let number = match self.schema.find(key) {
            Some(field) => field as u32 + 1,
            None => self.number_of_other(key),
        };
        self.behind[last as usize] = number;
        number
    }

    fn number_of_other(&mut self, key: &'r [u8]) -> u32 {
        if let Some(&number) = self.others.get(key) {
            return number;
        }
        if self.others.len() >= UNKNOWN_KEYS {
            return 0;
        }
        let number = self.names.len() as u32;
        self.names.push(Name::new(key));
        self.behind.push(0);
        self.others.insert(key, number);
        number
    }
}

/// The value of the next entry and what follows it, if it is one of this key, short, and written as everybody writes it.
#[inline(always)]
fn expected_entry<'r>(rest: &'r [u8], key: Name<'_>) -> Option<(&'r [u8], &'r [u8])> {
    let length = key.text.len();
    let head = rest.get(..length.checked_add(6)?)?;
    let (entry, value) = (usize::from(head[1]), usize::from(head[length + 5]));
    let is_plain = head[0] == 0x0a
        && head[2] == 0x0a
        && usize::from(head[3]) == length
        && head[length + 4] == 0x12
        && (entry | value) < 0x80
        && entry == length + 4 + value
        && key.is(&head[4..length + 4]);
    if !is_plain {
        return None;
    }
    rest[length + 6..].split_at_checked(value)
}

/// Key and value: two fields in any order; of two alike the last counts, and the other is empty.
fn in_any_order(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut cursor = Cursor::new(entry);
    let (mut key, mut value) = (&[][..], &[][..]);
    for _ in 0..2 {
        match cursor.varint()? as u32 {
            0x0a => key = cursor.piece()?,
            0x12 => value = cursor.piece()?,
            _ => return None,
        }
    }
    cursor.is_at_end().then_some((key, value))
}

/// Key, then value.
fn in_order(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut cursor = Cursor::new(entry);
    let key = if cursor.take_tag(0x0a) { cursor.piece()? } else { return None };
    let value = if cursor.take_tag(0x12) { cursor.piece()? } else { return None };
    cursor.is_at_end().then_some((key, value))
}
