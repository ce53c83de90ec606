//! Regular expressions, compiled once: matches replaced as RE2's `Replace` and `GlobalReplace` do.

use regex::bytes::{Captures, Regex, RegexBuilder};

/// A pattern and what its matches become. Time is linear in the text, whatever the pattern.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Group(usize),
}

impl Pattern {
    /// `rewrite`: `\1` to `\9` stand for groups, `\0` for the match, `\\` for a backslash. `unicode`: `\d`, `\s`, `\w`
    /// and `\b` know Unicode, as in Python's `re` of str; else ASCII alone, as in RE2. `.` is a character of UTF-8.
    pub fn new(pattern: &str, rewrite: &[u8], unicode: bool) -> Result<Self, String> {
        let given = if unicode { pattern.to_owned() } else { ascii_classes(pattern) };
        if unicode {
            regex::Regex::new(&given).map_err(|error| error.to_string())?; // no match may cut a character
        }
        let regex = RegexBuilder::new(&given).build().map_err(|error| error.to_string())?;
        let parts = parts_of(rewrite)?;
        let most =
            parts.iter().filter_map(|part| if let Part::Group(group) = part { Some(*group) } else { None }).max();
        if most.is_some_and(|most| most >= regex.captures_len()) {
            let groups = regex.captures_len() - 1;
            return Err(format!("rewrite names group {}, the pattern has {groups}", most.unwrap_or(0)));
        }
        Ok(Self { regex, parts })
    }

    /// `text` with its matches replaced, or only the first, at the end of `out`.
    pub fn replace_into(&self, text: &[u8], all: bool, out: &mut Vec<u8>) {
        let limit = if all { usize::MAX } else { 1 };
        let mut copied = 0;
        if self.parts.iter().any(|part| matches!(part, Part::Group(group) if *group > 0)) {
            for captures in self.regex.captures_iter(text).take(limit) {
                let whole = captures.get_match();
                out.extend_from_slice(&text[copied..whole.start()]);
                self.expand(&captures, out);
                copied = whole.end();
            }
        } else {
            for found in self.regex.find_iter(text).take(limit) {
                out.extend_from_slice(&text[copied..found.start()]);
                for part in &self.parts {
                    out.extend_from_slice(if let Part::Text(text) = part { text } else { found.as_bytes() });
                }
                copied = found.end();
            }
        }
        out.extend_from_slice(&text[copied..]);
    }

    fn expand(&self, captures: &Captures<'_>, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Group(group) => {
                    out.extend_from_slice(captures.get(*group).map_or(&b""[..], |found| found.as_bytes()))
                }
            }
        }
    }
}

/// The classes of RE2, which know ASCII alone, in the place of those that know Unicode.
fn ascii_classes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => out.push_str("[0-9]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('s') => out.push_str(r"[\t\n\x0c\r ]"),
            Some('S') => out.push_str(r"[^\t\n\x0c\r ]"),
            Some('w') => out.push_str("[0-9A-Za-z_]"),
            Some('W') => out.push_str("[^0-9A-Za-z_]"),
            Some('b') => out.push_str(r"(?-u:\b)"),
            Some('B') => out.push_str(r"(?-u:\B)"),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

fn parts_of(rewrite: &[u8]) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut text = Vec::new();
    let mut bytes = rewrite.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'\\') => text.push(b'\\'),
            Some(digit @ b'0'..=b'9') => {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Group(usize::from(digit - b'0')));
            }
            other => {
                let got = other.map_or_else(String::new, |&byte| char::from(byte).to_string());
                return Err(format!("rewrite has \\{got}, expected \\0 to \\9, or \\\\ for a backslash"));
            }
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pattern: &str, rewrite: &str, text: &[u8], all: bool) -> Vec<u8> {
        let mut out = Vec::new();
        Pattern::new(pattern, rewrite.as_bytes(), false).unwrap().replace_into(text, all, &mut out);
        out
    }

    #[test]
    fn matches_are_replaced_as_re2_replaces() {
        assert_eq!(replaced("x*", "-", b"abxd", true), b"-a-b-d-");
        assert_eq!(replaced("[ab]", "<\\0>", b"cab", true), b"c<a><b>");
        assert_eq!(replaced("(.)(.)", "\\2\\1", "aéb".as_bytes(), false), "éab".as_bytes());
        assert_eq!(replaced("a|(b)", "[\\1]", b"ab", true), b"[][b]");
        assert_eq!(replaced("a", "\\\\", b"a", true), b"\\");
    }

    #[test]
    fn classes_know_ascii_alone() {
        assert_eq!(replaced(r"\w", "x", "aé_".as_bytes(), true), "xéx".as_bytes());
        assert_eq!(replaced(r"[^\w\s]", "", "a,é b".as_bytes(), true), b"a b");
        assert_eq!(replaced(r"\bb\b", "x", b"b ab", true), b"x ab");
        assert_eq!(replaced(r".", "x", b"\xffa", true), b"\xffx");
    }

    #[test]
    fn with_unicode_classes_know_letters_of_all_languages() {
        let mut out = Vec::new();
        Pattern::new(r"\w", b"x", true).unwrap().replace_into("aé,".as_bytes(), true, &mut out);
        assert_eq!(out, b"xx,");
        assert!(Pattern::new(r"(?-u:\xff)", b"", true).is_err());
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        assert!(Pattern::new("(", b"", false).is_err());
        assert!(Pattern::new("a", b"\\1", false).unwrap_err().contains("group 1"));
        assert!(Pattern::new("a", b"\\x", false).unwrap_err().contains("\\x"));
        assert!(Pattern::new("a", b"\\", false).is_err());
        assert!(Pattern::new("\\", b"", false).is_err());
    }
}
