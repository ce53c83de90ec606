//! The wire format of protobuf, as far as Examples need it.

use super::lists::Broken;

/// What is left of a message. Reading past its end gives None, and leaves it where it was.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'r> {
    rest: &'r [u8],
}

impl<'r> Cursor<'r> {
    pub(super) fn new(message: &'r [u8]) -> Self {
        Self { rest: message }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn rest(&self) -> &'r [u8] {
        self.rest
    }

    /// Go on at `rest`, a part of the same message.
    pub(super) fn move_to(&mut self, rest: &'r [u8]) {
        self.rest = rest;
    }

    /// A fault at this place.
    pub(super) fn broken(&self, what: &'static str) -> Broken {
        Broken::at(self.rest, what)
    }

    /// Whether the next byte is `tag`, which is read then.
    #[inline(always)]
    pub(super) fn take_tag(&mut self, tag: u8) -> bool {
        match self.rest.split_first() {
            Some((&first, rest)) if first == tag => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    #[inline(always)]
    pub(super) fn varint(&mut self) -> Option<u64> {
        let (&first, rest) = self.rest.split_first()?;
        if first < 0x80 {
            self.rest = rest;
            return Some(u64::from(first));
        }
        self.long_varint()
    }

    /// Up to ten bytes, of which the bits above 64 are dropped, as protobuf drops them.
    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (place, &byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                self.rest = &self.rest[place + 1..];
                return Some(value);
            }
        }
        None
    }

    /// A length and so many bytes.
    #[inline(always)]
    pub(super) fn piece(&mut self) -> Option<&'r [u8]> {
        let mut after = *self;
        let length = usize::try_from(after.varint()?).ok()?;
        let (piece, rest) = after.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(piece)
    }

    /// `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Option<&'r [u8]> {
        let (piece, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(piece)
    }

    /// Any field that is not a group.
    pub(super) fn skip_field(&mut self) -> Result<(), Broken> {
        let start = *self;
        let skipped = self.varint().and_then(|tag| match tag & 7 {
            0 => self.varint().map(drop),
            1 => self.take(8).map(drop),
            2 => self.piece().map(drop),
            5 => self.take(4).map(drop),
            _ => None,
        });
        skipped.ok_or(start.broken("a field that is no field, a group, or longer than the record"))
    }
}
