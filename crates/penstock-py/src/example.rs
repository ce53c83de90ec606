//! tf.train.Example: records in, a column a feature out.

use numpy::{
    IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1, PyUntypedArray, PyUntypedArrayMethods,
};
use penstock_kernels::example::{
    self, Column, Default, Fault, Field, Form, Kind, Message, Problem, Schema, Values, Written,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// The fields of a parse, compiled once.
#[pyclass(frozen, module = "penstock._native")]
pub struct ExampleSchema {
    schema: Schema,
}

/// Name, kind, form, items (0: any number of steps' values), flag, default.
type FieldTuple<'py> = (PyBackedBytes, String, String, usize, bool, Option<Bound<'py, PyAny>>);

#[pymethods]
impl ExampleSchema {
    #[new]
    fn new(fields: Vec<FieldTuple<'_>>) -> PyResult<Self> {
        let fields = fields.into_iter().map(field_of).collect::<PyResult<Vec<_>>>()?;
        let schema = Schema::new(fields).ok_or_else(|| PyValueError::new_err("two fields of one name"))?;
        Ok(Self { schema })
    }
}

fn field_of((name, kind, form, items, flag, default): FieldTuple<'_>) -> PyResult<Field> {
    let kind = match &kind[..] {
        "bytes" => Kind::Bytes,
        "float" => Kind::Float,
        "int" => Kind::Int,
        _ => return Err(PyValueError::new_err(format!("no kind of feature: {kind}"))),
    };
    let default = default.map(|default| default_of(kind, items, &default)).transpose()?;
    let form = match &form[..] {
        "fixed" => Form::Fixed { items, default },
        "varying" if items > 0 => Form::Varying { stride: items, empty_counts: flag },
        "steps" => Form::Steps { items: Some(items), required: flag },
        "ragged_steps" => Form::Steps { items: None, required: flag },
        _ => return Err(PyValueError::new_err(format!("no form of feature: {form} of {items}"))),
    };
    Ok(Field { name: name.to_vec(), kind, form })
}

fn default_of(kind: Kind, items: usize, values: &Bound<'_, PyAny>) -> PyResult<Default> {
    let (default, count) = match kind {
        Kind::Bytes => {
            let texts: Vec<PyBackedBytes> = values.extract()?;
            let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
            let count = texts.len();
            (Default::Texts(texts), count)
        }
        Kind::Float => {
            let floats: Vec<f32> = values.extract()?;
            let count = floats.len();
            (Default::Floats(floats), count)
        }
        Kind::Int => {
            let ints: Vec<i64> = values.extract()?;
            let count = ints.len();
            (Default::Ints(ints), count)
        }
    };
    if count != items {
        return Err(PyValueError::new_err(format!("a default of {count} values, expected {items}")));
    }
    Ok(default)
}

/// Data, and the starts and the stops of the records in it.
type PackedArrays<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Records as Python hands them over: a list of bytes, or data with the starts and stops of each.
enum Records<'py> {
    Apart(Vec<Bound<'py, PyBytes>>),
    Packed(PyReadonlyArray1<'py, u8>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>),
}

impl<'py> Records<'py> {
    fn of(records: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(packed) = records.cast::<PyTuple>() {
            let (data, starts, stops): PackedArrays<'py> = packed.extract()?;
            return Ok(Self::Packed(data.try_readonly()?, starts.try_readonly()?, stops.try_readonly()?));
        }
        let list = records.cast::<PyList>()?;
        let each = list.iter().map(|record| record.cast_into::<PyBytes>().map_err(PyErr::from));
        Ok(Self::Apart(each.collect::<PyResult<_>>()?))
    }

    fn slices(&self) -> PyResult<Vec<&[u8]>> {
        match self {
            Self::Apart(records) => Ok(records.iter().map(|record| record.as_bytes()).collect()),
            Self::Packed(data, starts, stops) => {
                let data = data.as_slice()?;
                if starts.len() != stops.len() {
                    return Err(PyValueError::new_err(format!("{} starts, {} stops", starts.len(), stops.len())));
                }
                let pieces = starts.as_array().into_iter().zip(stops.as_array()).map(|(&start, &stop)| {
                    let piece = usize::try_from(start).ok().zip(usize::try_from(stop).ok());
                    piece.and_then(|(start, stop)| data.get(start..stop)).ok_or_else(|| {
                        PyValueError::new_err(format!("a record from {start} to {stop} of {} bytes", data.len()))
                    })
                });
                pieces.collect()
            }
        }
    }
}

/// Rows that are there already, or None.
enum Rows<'py> {
    Floats(PyReadwriteArray1<'py, f32>),
    Ints(PyReadwriteArray1<'py, i64>),
    None,
}

impl<'py> Rows<'py> {
    fn of(field: &Field, out: Option<&Bound<'py, PyUntypedArray>>, records: usize) -> PyResult<Self> {
        let (Form::Fixed { items, .. }, Kind::Float | Kind::Int) = (&field.form, field.kind) else {
            return match out {
                None => Ok(Self::None),
                Some(_) => Err(PyValueError::new_err("rows for a field that has none")),
            };
        };
        let out = out.ok_or_else(|| PyValueError::new_err("a fixed field without rows"))?;
        if Some(out.len()) != records.checked_mul(*items) {
            return Err(PyValueError::new_err(format!("rows of {} values, expected {records} x {items}", out.len())));
        }
        Ok(if field.kind == Kind::Float {
            Self::Floats(out.cast::<PyArray1<f32>>()?.try_readwrite()?)
        } else {
            Self::Ints(out.cast::<PyArray1<i64>>()?.try_readwrite()?)
        })
    }

    fn column<'r>(&mut self, kind: Kind) -> PyResult<Column<'_, 'r>> {
        Ok(Column::of(match (self, kind) {
            (Self::Floats(rows), _) => Values::FloatRows(rows.as_slice_mut()?),
            (Self::Ints(rows), _) => Values::IntRows(rows.as_slice_mut()?),
            (Self::None, Kind::Float) => Values::Floats(Vec::new()),
            (Self::None, Kind::Int) => Values::Ints(Vec::new()),
            (Self::None, Kind::Bytes) => Values::Texts(Vec::new()),
        }))
    }
}

fn rows_of<'py>(
    schema: &Schema,
    outs: &[Option<Bound<'py, PyUntypedArray>>],
    records: usize,
) -> PyResult<Vec<Rows<'py>>> {
    if outs.len() != schema.fields().len() {
        return Err(PyValueError::new_err(format!("{} outs, expected {}", outs.len(), schema.fields().len())));
    }
    let each = schema.fields().iter().zip(outs);
    each.map(|(field, out)| Rows::of(field, out.as_ref(), records)).collect()
}

fn columns_of<'o, 'r>(schema: &Schema, rows: &'o mut [Rows<'_>]) -> PyResult<Vec<Column<'o, 'r>>> {
    schema.fields().iter().zip(rows).map(|(field, rows)| rows.column(field.kind)).collect()
}

/// A column as (values, lengths, steps); None for rows that were written in place.
fn to_python<'py>(py: Python<'py>, column: Column<'_, '_>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let values = match column.values {
        Values::FloatRows(_) | Values::IntRows(_) => return Ok(None),
        Values::Floats(values) => values.into_pyarray(py).into_any(),
        Values::Ints(values) => values.into_pyarray(py).into_any(),
        Values::Texts(texts) => PyList::new(py, texts.iter().map(|text| PyBytes::new(py, text)))?.into_any(),
    };
    let (lengths, steps) = (column.lengths.into_pyarray(py), column.steps.into_pyarray(py));
    Ok(Some((values, lengths, steps).into_pyobject(py)?))
}

/// (record, in_lists, field, step, problem, detail, at)
type FaultTuple = (usize, bool, Option<usize>, Option<usize>, &'static str, String, usize);

fn fault_tuple(fault: Fault) -> FaultTuple {
    let (problem, detail, at) = match fault.problem {
        Problem::Broken { what, at } => ("broken", what.to_owned(), at),
        Problem::Missing => ("missing", String::new(), 0),
        Problem::WrongKind(Kind::Bytes) => ("kind", "bytes".to_owned(), 0),
        Problem::WrongKind(Kind::Float) => ("kind", "float".to_owned(), 0),
        Problem::WrongKind(Kind::Int) => ("kind", "int".to_owned(), 0),
        Problem::WrongCount(count) => ("count", count.to_string(), 0),
        Problem::NoMemory => ("memory", String::new(), 0),
    };
    (fault.record, fault.in_lists, fault.field, fault.step, problem, detail, at)
}

type Parsed<'py> = (Vec<Option<Bound<'py, PyTuple>>>, Option<FaultTuple>);

#[pyfunction]
pub fn parse_examples<'py>(
    py: Python<'py>,
    schema: &ExampleSchema,
    records: Bound<'py, PyAny>,
    outs: Vec<Option<Bound<'py, PyUntypedArray>>>,
) -> PyResult<Parsed<'py>> {
    let schema = &schema.schema;
    if schema.fields().iter().any(|field| matches!(field.form, Form::Steps { .. })) {
        return Err(PyValueError::new_err("feature lists in an Example"));
    }
    let records = Records::of(&records)?;
    let slices = records.slices()?;
    let mut rows = rows_of(schema, &outs, slices.len())?;
    let mut columns = columns_of(schema, &mut rows)?;
    if let Err(fault) = py.detach(|| example::parse(schema, &slices, &mut columns)) {
        return Ok((Vec::new(), Some(fault_tuple(fault))));
    }
    Ok((columns.into_iter().map(|column| to_python(py, column)).collect::<PyResult<_>>()?, None))
}

#[pyfunction]
pub fn parse_sequence_examples<'py>(
    py: Python<'py>,
    context: &ExampleSchema,
    lists: &ExampleSchema,
    records: Bound<'py, PyAny>,
    outs: Vec<Option<Bound<'py, PyUntypedArray>>>,
) -> PyResult<Parsed<'py>> {
    let (context, lists) = (&context.schema, &lists.schema);
    let is_list = |field: &Field| matches!(field.form, Form::Steps { .. });
    if context.fields().iter().any(is_list) || !lists.fields().iter().all(is_list) {
        return Err(PyValueError::new_err("feature lists in a context, or other features in feature lists"));
    }
    let records = Records::of(&records)?;
    let slices = records.slices()?;
    let mut context_rows = rows_of(context, &outs, slices.len())?;
    let mut context_columns = columns_of(context, &mut context_rows)?;
    let mut list_rows: Vec<Rows<'_>> = lists.fields().iter().map(|_| Rows::None).collect();
    let mut list_columns = columns_of(lists, &mut list_rows)?;
    let parsed =
        py.detach(|| example::parse_sequences(context, lists, &slices, &mut context_columns, &mut list_columns));
    if let Err(fault) = parsed {
        return Ok((Vec::new(), Some(fault_tuple(fault))));
    }
    let all = context_columns.into_iter().chain(list_columns);
    Ok((all.map(|column| to_python(py, column)).collect::<PyResult<_>>()?, None))
}

/// The values of one feature as Python hands them over.
enum Given<'py> {
    Floats(PyReadonlyArray1<'py, f32>),
    Ints(PyReadonlyArray1<'py, i64>),
    Texts(Vec<PyBackedBytes>),
    Nothing,
}

impl<'py> Given<'py> {
    fn of(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        if values.is_none() {
            return Ok(Self::Nothing);
        }
        if let Ok(floats) = values.cast::<PyArray1<f32>>() {
            return Ok(Self::Floats(floats.try_readonly()?));
        }
        if let Ok(ints) = values.cast::<PyArray1<i64>>() {
            return Ok(Self::Ints(ints.try_readonly()?));
        }
        Ok(Self::Texts(values.extract()?))
    }

    fn written(&self) -> PyResult<Written<'_>> {
        Ok(match self {
            Self::Floats(floats) => Written::Floats(floats.as_slice()?),
            Self::Ints(ints) => Written::Ints(ints.as_slice()?),
            Self::Texts(texts) => Written::Texts(texts.iter().map(|text| &text[..]).collect()),
            Self::Nothing => Written::Nothing,
        })
    }
}

type GivenFeature<'py> = (PyBackedBytes, Bound<'py, PyAny>);
type GivenList<'py> = (PyBackedBytes, Vec<Bound<'py, PyAny>>);

#[pyfunction]
#[pyo3(signature = (features, lists=None))]
pub fn serialize_example<'py>(
    py: Python<'py>,
    features: Vec<GivenFeature<'py>>,
    lists: Option<Vec<GivenList<'py>>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let values = features.iter().map(|(_, values)| Given::of(values)).collect::<PyResult<Vec<_>>>()?;
    let written = features.iter().zip(&values).map(|((name, _), values)| Ok((&name[..], values.written()?)));
    let mut message = Message::default();
    message.put_features(0x0a, &written.collect::<PyResult<Vec<_>>>()?);
    if let Some(lists) = lists {
        let steps = |(_, steps): &GivenList<'py>| steps.iter().map(Given::of).collect::<PyResult<Vec<_>>>();
        let values = lists.iter().map(steps).collect::<PyResult<Vec<_>>>()?;
        let written = lists
            .iter()
            .zip(&values)
            .map(|((name, _), steps)| Ok((&name[..], steps.iter().map(Given::written).collect::<PyResult<Vec<_>>>()?)));
        message.put_feature_lists(0x12, &written.collect::<PyResult<Vec<_>>>()?);
    }
    Ok(PyBytes::new(py, &message.into_bytes()))
}
