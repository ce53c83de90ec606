//! Texts of rows: lower, split, look up and their like, several steps in one pass over a block.
//!
//! A row holds one text or several (its words). Steps work on bytes; `Form` says how these are read. Bytes from outside
//! are never trusted to be UTF-8: where a step needs it, what is none is a fault with row and offset.

mod characters;
pub mod fingerprint;
pub mod pattern;
pub mod program;
pub mod vocabulary;

/// How the bytes of a text are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Byte by byte: letters and spaces are those of ASCII, as in Python's `bytes`.
    Bytes,
    /// As UTF-8: letters and spaces are those of Unicode, as in Python's `str`.
    Utf8,
}

/// Why a text could not be treated: `offset` is the byte, in the text as the step found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFault {
    pub row: usize,
    pub offset: usize,
    pub reason: String,
}
