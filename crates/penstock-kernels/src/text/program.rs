//! Several steps on the texts of each row of a block, one row after another, with nothing made between them.

use std::ops::Range;
use std::sync::Arc;

use super::characters::{as_utf8, split_at, split_at_spaces, stripped};
use super::fingerprint::fingerprint64;
use super::pattern::Pattern;
use super::vocabulary::Vocabulary;
use super::{Form, TextFault};

/// What is done to the texts of a row.
#[derive(Clone, Debug)]
pub enum Step {
    Lower(Form),
    Upper(Form),
    /// Without the spaces at both ends.
    Strip(Form),
    /// Matches replaced; `all`, or the first of each text.
    Replace {
        pattern: Arc<Pattern>,
        all: bool,
    },
    /// Each text becomes its pieces: between spaces, or around a separator that is not empty; at most `limit` + 1.
    Split {
        form: Form,
        separator: Option<Vec<u8>>,
        limit: usize,
    },
    /// Texts that are among the words go.
    Drop(Arc<Vocabulary>),
    /// Every run of `widths[0]` texts joined to one, then those of `widths[1]`, and so on.
    Ngrams {
        widths: Vec<usize>,
        separator: Vec<u8>,
    },
    /// All texts of the row joined to one.
    Join(Vec<u8>),
}

/// What a text counts: its bytes, or its characters.
pub type Unit = Form;

/// What number a text becomes.
#[derive(Clone, Debug)]
pub enum Number {
    /// As `Vocabulary::id`.
    Id { words: Arc<Vocabulary>, missing: i64, buckets: u64 },
    /// The fingerprint, modulo.
    Hash(u64),
    /// How long it is.
    Length(Unit),
}

/// The texts of one row: pieces of `bytes`. The other two are what a step writes to; they change places then.
#[derive(Debug, Default)]
pub struct Row {
    bytes: Vec<u8>,
    pieces: Vec<Range<usize>>,
    next_bytes: Vec<u8>,
    next_pieces: Vec<Range<usize>>,
}

impl Row {
    /// Take in the texts of the next row.
    fn load(&mut self, texts: &[&[u8]]) {
        self.bytes.clear();
        self.pieces.clear();
        for text in texts {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(text);
            self.pieces.push(start..self.bytes.len());
        }
        self.bytes.extend_from_slice(&[0; 8]); // so that a look-up reads eight bytes of any word at once
    }

    fn apply(&mut self, step: &Step) -> Result<(), (usize, u8)> {
        match step {
            Step::Lower(form) => self.cased(*form, <[u8]>::make_ascii_lowercase, str::to_lowercase)?,
            Step::Upper(form) => self.cased(*form, <[u8]>::make_ascii_uppercase, str::to_uppercase)?,
            Step::Strip(form) => {
                for piece in &mut self.pieces {
                    let (start, end) = stripped(&self.bytes[piece.clone()], *form)?;
                    *piece = piece.start + start..piece.start + end;
                }
            }
            Step::Replace { pattern, all } => self.rewritten(|text, out| {
                pattern.replace_into(text, *all, out);
                Ok(())
            })?,
            Step::Split { form, separator, limit } => {
                self.next_pieces.clear();
                for piece in &self.pieces {
                    let text = &self.bytes[piece.clone()];
                    let found = |start, end| self.next_pieces.push(piece.start + start..piece.start + end);
                    match separator {
                        None => split_at_spaces(text, *form, *limit, found)?,
                        Some(separator) => split_at(text, separator, *limit, found),
                    }
                }
                std::mem::swap(&mut self.pieces, &mut self.next_pieces);
            }
            Step::Drop(words) => self.pieces.retain(|piece| !words.contains(&self.bytes[piece.clone()])),
            Step::Ngrams { widths, separator } => {
                self.next_bytes.clear();
                self.next_pieces.clear();
                for &width in widths {
                    for run in self.pieces.windows(width.max(1)) {
                        let start = self.next_bytes.len();
                        join(&self.bytes, run, separator, &mut self.next_bytes);
                        self.next_pieces.push(start..self.next_bytes.len());
                    }
                }
                self.turn();
            }
            Step::Join(separator) => {
                self.next_bytes.clear();
                self.next_pieces.clear();
                join(&self.bytes, &self.pieces, separator, &mut self.next_bytes);
                self.next_pieces.push(0..self.next_bytes.len());
                self.turn();
            }
        }
        Ok(())
    }

    /// Every text in another case: all at once where all is ASCII, which may lie between the texts too.
    fn cased(&mut self, form: Form, ascii: fn(&mut [u8]), unicode: fn(&str) -> String) -> Result<(), (usize, u8)> {
        if form == Form::Bytes || self.bytes.is_ascii() {
            ascii(&mut self.bytes);
            return Ok(());
        }
        self.rewritten(|text, out| {
            out.extend_from_slice(unicode(as_utf8(text)?).as_bytes());
            Ok(())
        })
    }

    fn rewritten(
        &mut self,
        mut write: impl FnMut(&[u8], &mut Vec<u8>) -> Result<(), (usize, u8)>,
    ) -> Result<(), (usize, u8)> {
        self.next_bytes.clear();
        self.next_pieces.clear();
        for piece in &self.pieces {
            let start = self.next_bytes.len();
            write(&self.bytes[piece.clone()], &mut self.next_bytes)?;
            self.next_pieces.push(start..self.next_bytes.len());
        }
        self.turn();
        Ok(())
    }

    fn turn(&mut self) {
        std::mem::swap(&mut self.bytes, &mut self.next_bytes);
        std::mem::swap(&mut self.pieces, &mut self.next_pieces);
    }

    fn texts(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| &self.bytes[piece.clone()])
    }
}

fn join(bytes: &[u8], pieces: &[Range<usize>], separator: &[u8], out: &mut Vec<u8>) {
    for (place, piece) in pieces.iter().enumerate() {
        if place > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(&bytes[piece.clone()]);
    }
}

/// The texts of all rows end to end: text i ends before byte ends[i]; row r has those before splits[r + 1].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Texts {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
    pub splits: Vec<i64>,
}

/// The numbers of the texts of all rows, end to end: row r has those before splits[r + 1].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Numbers<T> {
    pub values: Vec<T>,
    pub splits: Vec<i64>,
}

/// Where the texts of each row are: one text a row, or row r has `texts[splits[r]..splits[r + 1]]`.
///
/// `splits` rise from 0 to the number of texts; the caller has checked it.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    pub texts: &'a [&'a [u8]],
    pub splits: Option<&'a [i64]>,
}

impl Rows<'_> {
    fn len(&self) -> usize {
        self.splits.map_or(self.texts.len(), |splits| splits.len().saturating_sub(1))
    }

    /// Every row after `steps`, handed to `take` with what the row before it left.
    fn run(&self, steps: &[Step], mut take: impl FnMut(&Row) -> Result<(), (usize, u8)>) -> Result<(), TextFault> {
        let mut row = Row::default();
        for number in 0..self.len() {
            row.load(match self.splits {
                None => &self.texts[number..=number],
                Some(splits) => &self.texts[splits[number] as usize..splits[number + 1] as usize],
            });
            let mut outcome = Ok(());
            for step in steps {
                outcome = outcome.and_then(|()| row.apply(step));
            }
            outcome.and_then(|()| take(&row)).map_err(|(offset, byte)| TextFault {
                row: number,
                offset,
                reason: format!("invalid UTF-8: byte {byte:#04x}"),
            })?;
        }
        Ok(())
    }
}

/// The texts that `steps` make of each row. Cost: one pass; a copy of each text that changes.
pub fn texts(rows: Rows<'_>, steps: &[Step]) -> Result<Texts, TextFault> {
    let mut made = Texts::default();
    made.splits.push(0);
    rows.run(steps, |row| {
        for text in row.texts() {
            made.bytes.extend_from_slice(text);
            made.ends.push(made.bytes.len());
        }
        made.splits.push(made.ends.len() as i64);
        Ok(())
    })?;
    Ok(made)
}

/// The numbers of the texts that `steps` make of each row. `convert`: to their type; the caller knows that they fit.
pub fn numbers<T>(
    rows: Rows<'_>,
    steps: &[Step],
    number: &Number,
    convert: fn(i64) -> T,
) -> Result<Numbers<T>, TextFault> {
    let mut made = Numbers { values: Vec::new(), splits: vec![0] };
    rows.run(steps, |row| {
        match number {
            Number::Id { words, missing, buckets } => {
                let id_of = |piece: &Range<usize>| convert(words.id_at(&row.bytes, piece.clone(), *missing, *buckets));
                made.values.extend(row.pieces.iter().map(id_of));
            }
            Number::Hash(buckets) => {
                made.values.extend(row.texts().map(|text| convert((fingerprint64(text) % *buckets) as i64)));
            }
            Number::Length(Form::Bytes) => made.values.extend(row.texts().map(|text| convert(text.len() as i64))),
            Number::Length(Form::Utf8) => {
                for text in row.texts() {
                    made.values.push(convert(as_utf8(text)?.chars().count() as i64));
                }
            }
        }
        made.splits.push(made.values.len() as i64);
        Ok(())
    })?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPLIT: Step = Step::Split { form: Form::Bytes, separator: None, limit: usize::MAX };

    fn words(list: &[&'static str]) -> Arc<Vocabulary> {
        Arc::new(Vocabulary::new(list.iter().map(|word| word.as_bytes())).unwrap())
    }

    fn run(rows: &[&str], steps: &[Step]) -> Vec<Vec<String>> {
        let texts_of: Vec<&[u8]> = rows.iter().map(|row| row.as_bytes()).collect();
        let made = texts(Rows { texts: &texts_of, splits: None }, steps).unwrap();
        let text = |place: usize| {
            let start = if place == 0 { 0 } else { made.ends[place - 1] };
            String::from_utf8(made.bytes[start..made.ends[place]].to_vec()).unwrap()
        };
        made.splits.windows(2).map(|ends| (ends[0] as usize..ends[1] as usize).map(text).collect()).collect()
    }

    #[test]
    fn steps_follow_one_another_in_each_row() {
        let steps = [Step::Lower(Form::Utf8), SPLIT, Step::Drop(words(&["the"])), Step::Strip(Form::Utf8)];
        assert_eq!(run(&["The ÉCOLE", "", "the A"], &steps), [vec!["école"], vec![], vec!["a"]]);
        assert_eq!(run(&["ΑΣ ß"], &[Step::Lower(Form::Utf8)]), [["ας ß"]]);
        assert_eq!(run(&["aß"], &[Step::Upper(Form::Utf8)]), [["ASS"]]);
        assert_eq!(run(&["É a"], &[Step::Lower(Form::Bytes)]), [["É a"]]);
    }

    #[test]
    fn ngrams_come_width_by_width() {
        let steps = [SPLIT, Step::Ngrams { widths: vec![2, 1, 4], separator: b"_".to_vec() }];
        assert_eq!(run(&["a b c", "x"], &steps), [vec!["a_b", "b_c", "a", "b", "c"], vec!["x"]]);
        assert_eq!(run(&["a b", ""], &[SPLIT, Step::Join(b"--".to_vec())]), [["a--b"], [""]]);
    }

    #[test]
    fn rows_of_several_texts_are_told_apart() {
        let given: [&[u8]; 3] = [b"a", b"b", b"c"];
        let rows = Rows { texts: &given, splits: Some(&[0, 2, 2, 3]) };
        let made = numbers(rows, &[], &Number::Length(Form::Utf8), |number| number as i32).unwrap();
        assert_eq!(made, Numbers { values: vec![1, 1, 1], splits: vec![0, 2, 2, 3] });
        let made = texts(rows, &[Step::Join(vec![])]).unwrap();
        assert_eq!(made, Texts { bytes: b"abc".to_vec(), ends: vec![2, 2, 3], splits: vec![0, 1, 2, 3] });
    }

    #[test]
    fn words_become_numbers() {
        let given: [&[u8]; 2] = [b"b a c", b""];
        let rows = Rows { texts: &given, splits: None };
        let number = Number::Id { words: words(&["a", "b"]), missing: -1, buckets: 0 };
        let made = numbers(rows, &[SPLIT], &number, |number| number).unwrap();
        assert_eq!(made, Numbers { values: vec![1, 0, -1], splits: vec![0, 3, 3] });
    }

    #[test]
    fn what_is_no_utf8_is_told_with_row_and_offset() {
        let given: [&[u8]; 2] = [b"a", b"ab\xff"];
        let rows = Rows { texts: &given, splits: None };
        let fault = texts(rows, &[Step::Lower(Form::Utf8)]).unwrap_err();
        assert_eq!((fault.row, fault.offset), (1, 2));
        let fault = numbers(rows, &[], &Number::Length(Form::Utf8), |number| number).unwrap_err();
        assert_eq!((fault.row, fault.offset), (1, 2));
    }
}
