//! Texts: rows of bytes or str through several steps in one call.

use std::sync::Arc;

use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use penstock_kernels::text::pattern::Pattern;
use penstock_kernels::text::program::{self, Number, Numbers, Rows, Step, Texts};
use penstock_kernels::text::vocabulary::Vocabulary;
use penstock_kernels::text::{Form, TextFault};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

/// Words by number; str counts as its UTF-8.
#[pyclass(frozen, module = "penstock._native")]
pub struct WordTable {
    words: Arc<Vocabulary>,
}

#[pymethods]
impl WordTable {
    #[new]
    fn new(words: &Bound<'_, PyList>) -> PyResult<Self> {
        let items: Vec<Bound<'_, PyAny>> = words.iter().collect();
        let texts = items.iter().map(bytes_of).collect::<PyResult<Vec<_>>>()?;
        let words = Vocabulary::new(texts.iter().copied()).map_err(PyValueError::new_err)?;
        Ok(Self { words: Arc::new(words) })
    }

    fn __len__(&self) -> usize {
        self.words.len()
    }
}

/// A regular expression and what its matches become.
#[pyclass(frozen, module = "penstock._native")]
pub struct TextPattern {
    pattern: Arc<Pattern>,
}

#[pymethods]
impl TextPattern {
    #[new]
    fn new(py: Python<'_>, pattern: &str, rewrite: &str, unicode: bool) -> PyResult<Self> {
        let made = py.detach(|| Pattern::new(pattern, rewrite.as_bytes(), unicode)).map_err(PyValueError::new_err)?;
        Ok(Self { pattern: Arc::new(made) })
    }
}

fn bytes_of<'a>(item: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    match item.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.as_bytes()),
        Err(_) => Err(PyTypeError::new_err(format!("{}, expected bytes or str", item.get_type().name()?))),
    }
}

/// `is_str`: texts are str, and read as UTF-8 whatever a step says.
fn step_of(tuple: &Bound<'_, PyTuple>, is_str: bool) -> PyResult<Step> {
    let name: String = tuple.get_item(0)?.extract()?;
    let item = |index: usize| tuple.get_item(index);
    let form = || Ok::<_, PyErr>(form_of(is_str || item(1)?.extract()?));
    Ok(match (name.as_str(), tuple.len()) {
        ("lower", 2) => Step::Lower(form()?),
        ("upper", 2) => Step::Upper(form()?),
        ("strip", 2) => Step::Strip(form()?),
        ("split", 4) => {
            let separator = item(2)?.extract::<Option<Vec<u8>>>()?;
            if separator.as_ref().is_some_and(Vec::is_empty) {
                return Err(PyValueError::new_err("an empty separator"));
            }
            let limit = item(3)?.extract::<Option<usize>>()?.unwrap_or(usize::MAX);
            Step::Split { form: form()?, separator, limit }
        }
        ("replace", 3) => {
            Step::Replace { pattern: item(1)?.cast::<TextPattern>()?.get().pattern.clone(), all: item(2)?.extract()? }
        }
        ("drop", 2) => Step::Drop(item(1)?.cast::<WordTable>()?.get().words.clone()),
        ("ngrams", 3) => Step::Ngrams { widths: item(1)?.extract()?, separator: item(2)?.extract()? },
        ("join", 2) => Step::Join(item(1)?.extract()?),
        _ => return Err(PyValueError::new_err(format!("not a step: {tuple:?}"))),
    })
}

fn form_of(is_utf8: bool) -> Form {
    if is_utf8 {
        Form::Utf8
    } else {
        Form::Bytes
    }
}

fn number_of(tuple: &Bound<'_, PyTuple>) -> PyResult<Number> {
    let name: String = tuple.get_item(0)?.extract()?;
    let item = |index: usize| tuple.get_item(index);
    Ok(match (name.as_str(), tuple.len()) {
        ("id", 4) => Number::Id {
            words: item(1)?.cast::<WordTable>()?.get().words.clone(),
            missing: item(2)?.extract()?,
            buckets: item(3)?.extract()?,
        },
        ("hash", 2) => match item(1)?.extract()? {
            0 => return Err(PyValueError::new_err("0 buckets")),
            buckets => Number::Hash(buckets),
        },
        ("length", 2) => Number::Length(form_of(item(1)?.extract()?)),
        _ => return Err(PyValueError::new_err(format!("not a number: {tuple:?}"))),
    })
}

/// Texts, held until a call ends, so that their bytes live: objects, or pieces of one array of bytes.
enum Held<'py> {
    Items(Vec<Bound<'py, PyAny>>),
    Pieces(PyReadonlyArray1<'py, u8>, Vec<(usize, usize)>),
}

impl<'py> Held<'py> {
    fn of(texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = texts.cast::<PyList>() {
            return Ok(Self::Items(list.iter().collect()));
        }
        type Pieces<'py> = (PyReadonlyArray1<'py, u8>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);
        let (whole, starts, ends): Pieces<'py> = texts.extract()?;
        let (starts, ends) = (starts.as_slice()?, ends.as_slice()?);
        if starts.len() != ends.len() {
            return Err(PyValueError::new_err("starts and ends differ in length"));
        }
        let size = whole.as_slice()?.len();
        let mut places = Vec::with_capacity(starts.len());
        for (&start, &end) in starts.iter().zip(ends) {
            if start < 0 || end < start || end as usize > size {
                return Err(PyValueError::new_err(format!("a piece from {start} to {end} of {size} bytes")));
            }
            places.push((start as usize, end as usize));
        }
        Ok(Self::Pieces(whole, places))
    }

    /// The bytes of each, and whether they are str.
    fn slices(&self) -> PyResult<(Vec<&[u8]>, bool)> {
        let items = match self {
            Self::Pieces(whole, places) => {
                let whole = whole.as_slice()?;
                return Ok((places.iter().map(|&(start, end)| &whole[start..end]).collect(), false));
            }
            Self::Items(items) => items,
        };
        let is_str = items.first().is_some_and(|item| item.is_instance_of::<PyString>());
        let mut slices = Vec::with_capacity(items.len());
        for (place, item) in items.iter().enumerate() {
            if item.is_instance_of::<PyString>() != is_str {
                return Err(PyTypeError::new_err(format!(
                    "text {place} is bytes where others are str, or the reverse"
                )));
            }
            slices.push(bytes_of(item)?);
        }
        Ok((slices, is_str))
    }
}

/// What a call gives: texts or numbers, and where each row of them ends; or the fault that stopped it.
type Given<'py> = Result<(Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>), (usize, usize, String)>;

/// Texts of `texts` (a list of bytes, or of str; or an array of bytes, with where each piece starts and ends) after `steps`, or their numbers; one text a row, or rows as `splits` says.
#[pyfunction]
#[pyo3(signature = (texts, splits, steps, number, is_narrow))]
pub fn text_rows<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    splits: Option<PyReadonlyArray1<'py, i64>>,
    steps: Vec<Bound<'py, PyTuple>>,
    number: Option<Bound<'py, PyTuple>>,
    is_narrow: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let held = Held::of(texts)?;
    let (slices, is_str) = held.slices()?;
    let splits = splits.as_ref().map(|splits| splits.as_slice()).transpose()?;
    if let Some(splits) = splits {
        let is_right = splits.first() == Some(&0)
            && splits.last() == Some(&(slices.len() as i64))
            && splits.windows(2).all(|ends| ends[0] <= ends[1]);
        if !is_right {
            return Err(PyValueError::new_err(format!("splits do not rise from 0 to {}", slices.len())));
        }
    }
    let steps = steps.iter().map(|step| step_of(step, is_str)).collect::<PyResult<Vec<_>>>()?;
    let rows = Rows { texts: &slices, splits };
    let given: Given<'py> = match number.as_ref().map(number_of).transpose()? {
        None => match py.detach(|| program::texts(rows, &steps)) {
            Ok(made) => Ok((list_of(py, &made, is_str)?.into_any(), made.splits.into_pyarray(py))),
            Err(fault) => Err(told(fault)),
        },
        Some(number) if is_narrow => {
            array_of(py, py.detach(|| program::numbers(rows, &steps, &number, |value| value as i32)))
        }
        Some(number) => array_of(py, py.detach(|| program::numbers(rows, &steps, &number, |value| value))),
    };
    match given {
        Ok((made, splits)) => (made, splits, py.None()).into_pyobject(py),
        Err(fault) => (py.None(), py.None(), fault).into_pyobject(py),
    }
}

fn told(fault: TextFault) -> (usize, usize, String) {
    (fault.row, fault.offset, fault.reason)
}

fn array_of<T: Element>(py: Python<'_>, made: Result<Numbers<T>, TextFault>) -> Given<'_> {
    let made = made.map_err(told)?;
    Ok((made.values.into_pyarray(py).into_any(), made.splits.into_pyarray(py)))
}

fn list_of<'py>(py: Python<'py>, made: &Texts, is_str: bool) -> PyResult<Bound<'py, PyList>> {
    let mut start = 0;
    let pieces = made.ends.iter().map(|&end| {
        let piece = &made.bytes[start..end];
        start = end;
        piece
    });
    if !is_str {
        return PyList::new(py, pieces.map(|piece| PyBytes::new(py, piece)).collect::<Vec<_>>());
    }
    let texts = pieces.map(|piece| {
        let text = std::str::from_utf8(piece).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyString::new(py, text))
    });
    PyList::new(py, texts.collect::<PyResult<Vec<_>>>()?)
}
