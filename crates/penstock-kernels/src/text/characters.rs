//! Letters and spaces, in ASCII and in Unicode: what Python's `bytes` and `str` hold for them.

use super::Form;

/// As `bytes.isspace`, and C's isspace.
pub fn is_byte_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// As `str.isspace`: Unicode's white space, and the four separators of ASCII.
pub fn is_char_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\x1c'..='\x1f')
}

/// The bytes of `text` as UTF-8. `Err`: the offset of the first byte that is none, and the byte.
pub fn as_utf8(text: &[u8]) -> Result<&str, (usize, u8)> {
    std::str::from_utf8(text).map_err(|error| (error.valid_up_to(), text[error.valid_up_to()]))
}

/// Where `text` begins and ends without the spaces around it.
pub fn stripped(text: &[u8], form: Form) -> Result<(usize, usize), (usize, u8)> {
    if form == Form::Bytes {
        let start = text.iter().position(|&byte| !is_byte_space(byte)).unwrap_or(text.len());
        let end = text.iter().rposition(|&byte| !is_byte_space(byte)).map_or(start, |last| last + 1);
        return Ok((start, end));
    }
    let text = as_utf8(text)?;
    let start = text.len() - text.trim_start_matches(is_char_space).len();
    Ok((start, start + text[start..].trim_end_matches(is_char_space).len()))
}

/// The pieces of `text` between runs of spaces, at most `limit` + 1: the last one then holds the rest.
pub fn split_at_spaces(
    text: &[u8],
    form: Form,
    limit: usize,
    piece: impl FnMut(usize, usize),
) -> Result<(), (usize, u8)> {
    if form == Form::Bytes {
        split_bytes(text, &BYTE_SPACES, limit, piece);
    } else if text.is_ascii() {
        split_bytes(text, &CHAR_SPACES, limit, piece);
    } else {
        split_characters(as_utf8(text)?, limit, piece);
    }
    Ok(())
}

const BYTE_SPACES: [bool; 256] = spaces(false);
const CHAR_SPACES: [bool; 256] = spaces(true);

const fn spaces(of_str: bool) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte, 0x20 | 0x09..=0x0d) || (of_str && matches!(byte, 0x1c..=0x1f));
        byte += 1;
    }
    table
}

#[inline(always)]
fn split_bytes(text: &[u8], is_space: &[bool; 256], limit: usize, mut piece: impl FnMut(usize, usize)) {
    let mut at = 0;
    for count in 0.. {
        at += text[at..].iter().take_while(|&&byte| is_space[usize::from(byte)]).count();
        if at == text.len() {
            return;
        }
        let start = at;
        if count == limit {
            piece(start, text.len());
            return;
        }
        at += text[at..].iter().take_while(|&&byte| !is_space[usize::from(byte)]).count();
        piece(start, at);
    }
}

fn split_characters(text: &str, limit: usize, mut piece: impl FnMut(usize, usize)) {
    let length = text.len();
    let mut start = None;
    let mut count = 0;
    for (at, character) in text.char_indices() {
        match (start, is_char_space(character)) {
            (None, false) if count == limit => {
                piece(at, length);
                return;
            }
            (None, false) => start = Some(at),
            (Some(begun), true) => {
                piece(begun, at);
                count += 1;
                start = None;
            }
            _ => {}
        }
    }
    if let Some(begun) = start {
        piece(begun, length);
    }
}

/// The pieces of `text` around a separator that is not empty, at most `limit` + 1.
pub fn split_at(text: &[u8], separator: &[u8], limit: usize, mut piece: impl FnMut(usize, usize)) {
    let mut start = 0;
    for at in memchr::memmem::find_iter(text, separator).take(limit) {
        piece(start, at);
        start = at + separator.len();
    }
    piece(start, text.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, form: Form, limit: usize) -> Vec<&str> {
        let mut found = Vec::new();
        split_at_spaces(text.as_bytes(), form, limit, |start, end| found.push(&text[start..end])).unwrap();
        found
    }

    #[test]
    fn spaces_split_as_python_splits() {
        assert_eq!(split("  a  b\tc ", Form::Bytes, usize::MAX), ["a", "b", "c"]);
        assert_eq!(split(" a  b c  ", Form::Bytes, 1), ["a", "b c  "]);
        assert_eq!(split(" a b", Form::Bytes, 0), ["a b"]);
        assert_eq!(split("a\u{a0}b\x1cc", Form::Utf8, usize::MAX), ["a", "b", "c"]);
        assert_eq!(split("a\x1cb", Form::Bytes, usize::MAX), ["a\x1cb"]);
        assert_eq!(split("  ", Form::Utf8, usize::MAX), [""; 0]);
    }

    #[test]
    fn separators_split_as_python_splits() {
        let mut found = Vec::new();
        split_at(b"a--b---c", b"--", 5, |start, end| found.push((start, end)));
        assert_eq!(found, [(0, 1), (3, 4), (6, 8)]);
        found.clear();
        split_at(b"", b",", 5, |start, end| found.push((start, end)));
        assert_eq!(found, [(0, 0)]);
        found.clear();
        split_at(b",a,", b",", 1, |start, end| found.push((start, end)));
        assert_eq!(found, [(0, 0), (1, 3)]);
    }

    #[test]
    fn what_is_no_utf8_is_told_with_its_offset() {
        assert_eq!(split_at_spaces(b"a \xff", Form::Utf8, 9, |_, _| {}), Err((2, 0xff)));
        assert_eq!(stripped(b"\xc3", Form::Utf8), Err((0, 0xc3)));
        assert_eq!(stripped(" \u{2003}x\u{3000}".as_bytes(), Form::Utf8), Ok((4, 5)));
        assert_eq!(stripped(b" \x0b", Form::Bytes), Ok((2, 2)));
    }
}
