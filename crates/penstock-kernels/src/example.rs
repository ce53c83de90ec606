//! tf.train.Example and SequenceExample, one pass over each record, into columns for all records.
//!
//! What counts as valid, and what wins where a record says something twice, is what TensorFlow's
//! `example_proto_fast_parsing.cc` does, with one difference: a length that reaches past the message around it is a
//! fault here, where TensorFlow may cut it short. Nothing is allocated by a length that a record claims.

mod keys;
mod lists;
mod sequence;
mod wire;
mod write;

pub use keys::Schema;
pub use sequence::parse_sequences;
pub use write::{Message, Written};

use keys::Keys;
use lists::Broken;
use wire::Cursor;

/// Which list a feature holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bytes,
    Float,
    Int,
}

impl Kind {
    /// The tag of its list in a Feature.
    fn tag(self) -> u8 {
        match self {
            Self::Bytes => 0x0a,
            Self::Float => 0x12,
            Self::Int => 0x1a,
        }
    }

    fn of_tag(tag: u8) -> Option<Self> {
        [Self::Bytes, Self::Float, Self::Int].into_iter().find(|kind| kind.tag() == tag)
    }
}

/// What a record without a feature gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Default {
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<Vec<u8>>),
}

/// How many values a feature has.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// So many in every record; a record without the feature gets the default, or is at fault.
    Fixed { items: usize, default: Option<Default> },
    /// Any multiple of `stride`. `empty_counts`: a feature without a list hides an earlier one of its name.
    Varying { stride: usize, empty_counts: bool },
    /// A list of features (of a SequenceExample): so many values in every step, or any number.
    Steps { items: Option<usize>, required: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: Vec<u8>,
    pub kind: Kind,
    pub form: Form,
}

/// Where the values of a field go: rows that are there already, or as they come.
#[derive(Debug, PartialEq)]
pub enum Values<'o, 'r> {
    FloatRows(&'o mut [f32]),
    IntRows(&'o mut [i64]),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<&'r [u8]>),
}

/// One field of all records. `lengths`: how many values, or steps, each record has, where that varies; `steps`: how many
/// values each step has.
#[derive(Debug, PartialEq)]
pub struct Column<'o, 'r> {
    pub values: Values<'o, 'r>,
    pub lengths: Vec<i64>,
    pub steps: Vec<i64>,
}

impl<'o, 'r> Column<'o, 'r> {
    pub fn of(values: Values<'o, 'r>) -> Self {
        Self { values, lengths: Vec::new(), steps: Vec::new() }
    }
}

/// The message whose parser in TensorFlow is followed: of a SequenceExample, the last of two features of one name counts,
/// empty or not; an entry has its key first; packed floats are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    Example,
    Sequence,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No message of this kind; `at`: where, in bytes from the start of the record.
    Broken {
        what: &'static str,
        at: usize,
    },
    Missing,
    WrongKind(Kind),
    /// So many values, where another number, or a multiple of it, was asked for.
    WrongCount(usize),
    NoMemory,
}

/// The first record at fault. `field`: of the schema, where the fault is in one; `in_lists`: of the feature lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub record: usize,
    pub in_lists: bool,
    pub field: Option<usize>,
    pub step: Option<usize>,
    pub problem: Problem,
}

/// Parse records into `columns`, one for each field of the schema, with rows for all records where they are fixed.
///
/// # Panics
/// If columns do not fit the schema; never for what records hold.
pub fn parse<'r>(schema: &'r Schema, records: &[&'r [u8]], columns: &mut [Column<'_, 'r>]) -> Result<(), Fault> {
    let rules = Rules::Example;
    assert_eq!(schema.fields().len(), columns.len());
    let mut keys = Keys::new(schema, rules);
    for (number, record) in records.iter().enumerate() {
        let fault = |field, problem| Fault { record: number, in_lists: false, field, step: None, problem };
        keys.clear();
        let mut cursor = Cursor::new(record);
        while !cursor.is_at_end() {
            let features = if cursor.take_tag(0x0a) {
                let body = cursor.piece().ok_or(cursor.broken("the features are longer than the record"));
                body.and_then(|body| keys.collect(body))
            } else {
                cursor.skip_field()
            };
            features.map_err(|broken| fault(None, broken.in_record(record)))?;
        }
        for (field, column) in columns.iter_mut().enumerate() {
            let read = read_feature(&schema.fields()[field], keys.found(field), rules, number, column);
            read.map_err(|problem| fault(Some(field), problem.in_record(record)))?;
        }
    }
    Ok(())
}

/// A problem whose place is an address still.
enum Refusal {
    Broken(Broken),
    Problem(Problem),
}

impl From<Broken> for Refusal {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl Refusal {
    fn in_record(self, record: &[u8]) -> Problem {
        match self {
            Self::Broken(broken) => broken.in_record(record),
            Self::Problem(problem) => problem,
        }
    }
}

/// One feature of record `number`: `found` is its message, None where the record has none.
#[inline(always)]
fn read_feature<'r>(
    field: &'r Field,
    found: Option<&'r [u8]>,
    rules: Rules,
    number: usize,
    column: &mut Column<'_, 'r>,
) -> Result<(), Refusal> {
    match &field.form {
        Form::Fixed { items, default } => match found {
            Some(feature) => {
                if *items == 1 && read_lone(feature, field.kind, number, column) {
                    return Ok(());
                }
                let count = if feature.is_empty() {
                    0
                } else {
                    let list = lists::list_of(feature, field.kind)?;
                    read_row(list, *items, rules, number, column)?
                };
                if count == *items {
                    Ok(())
                } else {
                    Err(Refusal::Problem(Problem::WrongCount(count)))
                }
            }
            None => match default {
                Some(default) => fill_row(default, *items, number, column),
                None => Err(Refusal::Problem(Problem::Missing)),
            },
        },
        Form::Varying { stride, .. } => {
            let count = match found {
                Some(feature) if !feature.is_empty() => {
                    lists::append(lists::list_of(feature, field.kind)?, rules, &mut column.values)?
                }
                _ => 0,
            };
            if count % stride != 0 {
                return Err(Refusal::Problem(Problem::WrongCount(count)));
            }
            push(&mut column.lengths, count)
        }
        Form::Steps { .. } => unreachable!("no field of an Example"),
    }
}

/// Write the number of a feature that holds one; false: look closer.
#[inline(always)]
fn read_lone(feature: &[u8], kind: Kind, number: usize, column: &mut Column<'_, '_>) -> bool {
    match (&mut column.values, kind) {
        (Values::IntRows(rows), Kind::Int) => lists::lone_int(feature).map(|value| rows[number] = value).is_some(),
        (Values::FloatRows(rows), Kind::Float) => {
            lists::lone_float(feature).map(|value| rows[number] = value).is_some()
        }
        _ => false,
    }
}

fn push(lengths: &mut Vec<i64>, count: usize) -> Result<(), Refusal> {
    lengths.try_reserve(1).map_err(|_| Refusal::Problem(Problem::NoMemory))?;
    lengths.push(count as i64);
    Ok(())
}

/// The values of a list into row `number`; how many there are, which may be more than fit.
#[inline(always)]
fn read_row<'r>(
    list: &'r [u8],
    items: usize,
    rules: Rules,
    number: usize,
    column: &mut Column<'_, 'r>,
) -> Result<usize, Refusal> {
    match &mut column.values {
        Values::IntRows(rows) => Ok(lists::read_ints(list, &mut rows[number * items..][..items])?),
        Values::FloatRows(rows) => Ok(lists::read_floats(list, rules, &mut rows[number * items..][..items])?),
        values => lists::append(list, rules, values),
    }
}

fn fill_row<'r>(default: &'r Default, items: usize, number: usize, column: &mut Column<'_, 'r>) -> Result<(), Refusal> {
    match (default, &mut column.values) {
        (Default::Floats(values), Values::FloatRows(rows)) => rows[number * items..][..items].copy_from_slice(values),
        (Default::Ints(values), Values::IntRows(rows)) => rows[number * items..][..items].copy_from_slice(values),
        (Default::Texts(values), Values::Texts(texts)) => {
            texts.try_reserve(values.len()).map_err(|_| Refusal::Problem(Problem::NoMemory))?;
            texts.extend(values.iter().map(Vec::as_slice));
        }
        _ => unreachable!("a default of another kind than its column"),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
