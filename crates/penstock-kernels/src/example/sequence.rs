//! SequenceExample: the features of its context, and lists of features.

use super::keys::{Keys, Schema};
use super::lists::{append, list_of, Broken};
use super::wire::Cursor;
use super::{push, read_feature, Column, Fault, Field, Form, Kind, Problem, Refusal, Rules};

/// Parse records into columns for the fields of the context and of the feature lists.
///
/// # Panics
/// If columns do not fit the schemas; never for what records hold.
pub fn parse_sequences<'r>(
    context: &'r Schema,
    lists: &'r Schema,
    records: &[&'r [u8]],
    context_columns: &mut [Column<'_, 'r>],
    list_columns: &mut [Column<'_, 'r>],
) -> Result<(), Fault> {
    assert_eq!((context.fields().len(), lists.fields().len()), (context_columns.len(), list_columns.len()));
    let mut keys = [Keys::new(context, Rules::Sequence), Keys::new(lists, Rules::Sequence)];
    for (number, record) in records.iter().enumerate() {
        let fault = |in_lists, field, step, problem| Fault { record: number, in_lists, field, step, problem };
        keys.iter_mut().for_each(Keys::clear);
        let mut cursor = Cursor::new(record);
        while !cursor.is_at_end() {
            let of = [0x0a, 0x12].into_iter().position(|tag| cursor.take_tag(tag));
            let collected = match of {
                Some(part) => {
                    let body = cursor.piece().ok_or(cursor.broken("the features are longer than the record"));
                    body.and_then(|body| keys[part].collect(body))
                }
                None => cursor.skip_field(),
            };
            collected.map_err(|broken| fault(of == Some(1), None, None, broken.in_record(record)))?;
        }
        for (field, column) in context_columns.iter_mut().enumerate() {
            let read = read_feature(&context.fields()[field], keys[0].found(field), Rules::Sequence, number, column);
            read.map_err(|refusal| fault(false, Some(field), None, refusal.in_record(record)))?;
        }
        for (field, column) in list_columns.iter_mut().enumerate() {
            let read = read_steps(&lists.fields()[field], keys[1].found(field), column);
            read.map_err(|(step, refusal)| fault(true, Some(field), step, refusal.in_record(record)))?;
        }
    }
    Ok(())
}

/// The steps of one feature list.
fn read_steps<'r>(
    field: &Field,
    found: Option<&'r [u8]>,
    column: &mut Column<'_, 'r>,
) -> Result<(), (Option<usize>, Refusal)> {
    let Form::Steps { items, required } = field.form else { unreachable!("no field of feature lists") };
    if found.is_none() && required {
        return Err((None, Refusal::Problem(Problem::Missing)));
    }
    let mut cursor = Cursor::new(found.unwrap_or(&[]));
    let mut step = 0;
    while !cursor.is_at_end() {
        let place = cursor;
        let feature = if cursor.take_tag(0x0a) { cursor.piece() } else { None };
        let feature = feature.ok_or((None, place.broken("no list of features").into()))?;
        let count = read_step(field, feature, column).map_err(|refusal| (Some(step), refusal))?;
        if items.is_some_and(|items| items != count) {
            return Err((Some(step), Refusal::Problem(Problem::WrongCount(count))));
        }
        push(&mut column.steps, count).map_err(|refusal| (Some(step), refusal))?;
        step += 1;
    }
    push(&mut column.lengths, step).map_err(|refusal| (None, refusal))
}

/// Whether nothing follows packed numbers. TensorFlow would read it as a step of its own.
fn ends_with_its_numbers(list: &[u8]) -> bool {
    let mut cursor = Cursor::new(list);
    !cursor.take_tag(0x0a) || cursor.piece().is_none() || cursor.is_at_end()
}

fn read_step<'r>(field: &Field, feature: &'r [u8], column: &mut Column<'_, 'r>) -> Result<usize, Refusal> {
    if feature.is_empty() {
        return Ok(0);
    }
    let list = list_of(feature, field.kind)?;
    let is_last = list.as_ptr_range().end == feature.as_ptr_range().end;
    if !is_last || (field.kind != Kind::Bytes && !ends_with_its_numbers(list)) {
        return Err(Broken::at(feature, "a step with more than one list").into());
    }
    append(list, Rules::Sequence, &mut column.values)
}
