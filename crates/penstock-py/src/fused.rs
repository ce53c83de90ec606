//! Fused image passes: blocks of files or of decoded images, straight into an output array.

use std::path::PathBuf;

use half::{bf16, f16};
use numpy::{
    PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArray, PyUntypedArrayMethods,
};
use penstock_kernels::fault::DecodeFault;
use penstock_kernels::fused::{
    self, Crop, Decoding, Failure, Format, Kind, Layout, Plan, Regions, Resize, Source, Step, Store,
};
use penstock_kernels::jpeg::{self, Reading};
use penstock_kernels::resize::{Filter, Shape};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;

use crate::gather::{is_writable, Memory};

/// A file by its path, or its bytes: borrowed where nobody can change them, copied otherwise.
pub enum Content {
    Path(PathBuf),
    Bytes(PyBackedBytes),
    Buffer(PyBuffer<u8>),
    Copy(Vec<u8>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Content {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<pyo3::types::PyBytes>() {
            return Ok(Self::Bytes(object.extract()?));
        }
        if object.is_instance_of::<pyo3::types::PyString>() {
            return Ok(Self::Path(object.extract()?));
        }
        let buffer = PyBuffer::<u8>::get(&object)?;
        if buffer.readonly() && buffer.is_c_contiguous() {
            return Ok(Self::Buffer(buffer));
        }
        Ok(Self::Copy(buffer.to_vec(object.py())?))
    }
}

impl Content {
    fn source(&self) -> Source<'_> {
        Source::Bytes(match self {
            Self::Path(path) => return Source::File(path),
            Self::Bytes(bytes) => bytes,
            Self::Copy(bytes) => bytes,
            Self::Buffer(buffer) if buffer.len_bytes() == 0 => &[],
            // SAFETY: the buffer is contiguous, of bytes, read-only, not empty, and held as long as `self`.
            Self::Buffer(buffer) => unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes()) },
        })
    }
}

type Reasons = Vec<(usize, String)>;

fn reasons(failures: Vec<Failure>) -> Reasons {
    failures.into_iter().map(|(row, fault)| (row, fault.reason)).collect()
}

#[pyfunction]
pub fn jpeg_shapes<'py>(
    py: Python<'py>,
    contents: Vec<Content>,
    is_oriented: bool,
) -> PyResult<(Bound<'py, PyArray2<i32>>, Reasons)> {
    let sources: Vec<Source> = contents.iter().map(Content::source).collect();
    let shape_of = |source| match source {
        Source::Bytes(bytes) => jpeg::shape(bytes, is_oriented),
        Source::File(_) => Err(DecodeFault::new("a path, expected the bytes of a file")),
    };
    let found: Vec<Result<[usize; 3], DecodeFault>> =
        py.detach(|| sources.into_iter().map(shape_of).collect::<Vec<_>>());
    let mut failures = Vec::new();
    let mut sides = Vec::with_capacity(found.len() * 3);
    for (row, outcome) in found.into_iter().enumerate() {
        let shape = outcome.unwrap_or_else(|fault| {
            failures.push((row, fault.reason));
            [0; 3]
        });
        sides.extend(shape.map(|side| side as i32)); // JPEG sides stop at 65535
    }
    let shapes = numpy::PyArray1::from_vec(py, sides).reshape([contents.len(), 3])?;
    Ok((shapes, failures))
}

fn kind(name: &str) -> PyResult<Kind> {
    match name {
        "uint8" => Ok(Kind::Bytes),
        "float32" => Ok(Kind::Floats),
        _ => Err(PyValueError::new_err(format!("between steps values are uint8 or float32, not {name}"))),
    }
}

/// Steps, and the layout if the last says so.
fn parse_steps(tuples: &[Bound<'_, PyTuple>]) -> PyResult<(Vec<Step>, Layout)> {
    let mut layout = Layout::ChannelsLast;
    let mut steps = Vec::with_capacity(tuples.len());
    for (number, tuple) in tuples.iter().enumerate() {
        let name: String = tuple.get_item(0)?.extract()?;
        let item = |index: usize| tuple.get_item(index);
        let floats = || item(1)?.extract::<Vec<f32>>();
        steps.push(match (name.as_str(), tuple.len()) {
            ("flip_left_right", 2) => Step::FlipLeftRight(item(1)?.extract()?),
            ("round", 1) => Step::Round,
            ("adjust_brightness", 2) => Step::AdjustBrightness(floats()?),
            ("adjust_contrast", 2) => Step::AdjustContrast(floats()?),
            ("adjust_saturation", 2) => Step::AdjustSaturation(floats()?),
            ("adjust_hue", 2) => Step::AdjustHue(floats()?),
            ("convert_image_dtype", 3) => {
                Step::Convert { to: kind(&item(1)?.extract::<String>()?)?, saturate: item(2)?.extract()? }
            }
            ("cast", 2) => Step::Cast(kind(&item(1)?.extract::<String>()?)?),
            ("affine", 3) => Step::Affine { scale: floats()?, offset: item(2)?.extract()? },
            ("multiply", 2) => Step::Multiply(floats()?),
            ("add", 2) => Step::Add(floats()?),
            ("subtract", 2) => Step::Subtract(floats()?),
            ("divide", 2) => Step::Divide(floats()?),
            ("channels_first", 1) if number + 1 == tuples.len() => {
                layout = Layout::ChannelsFirst;
                break;
            }
            _ => return Err(PyValueError::new_err(format!("steps[{number}]: not a step: {tuple:?}"))),
        });
    }
    Ok((steps, layout))
}

/// The regions of a block as Python says them.
#[derive(FromPyObject)]
pub enum Choice<'py> {
    /// Top, left, height and width of each image.
    Given(PyReadonlyArray2<'py, i32>),
    /// "random_resized_crop", key, identities, op, range of the area, of the ratio, and of its logarithm.
    Resized(String, u64, PyReadonlyArray1<'py, u64>, u32, [f64; 2], [f64; 2], [f64; 2]),
    /// "random_crop", key, identities, op, height and width.
    Sized(String, u64, PyReadonlyArray1<'py, u64>, u32, [usize; 2]),
    /// "central_crop", the share of each side.
    Central(String, f64),
}

impl Choice<'_> {
    fn regions(&self, images: usize) -> PyResult<Regions<'_>> {
        match self {
            Self::Given(array) if array.shape() == [images, 4] => Ok(Regions::Given(array.as_slice()?.as_chunks().0)),
            Self::Given(array) => {
                let shape = array.shape();
                Err(PyValueError::new_err(format!("regions has shape {shape:?}, expected [{images}, 4]")))
            }
            Self::Resized(name, key, ids, op, area, ratio, log_ratio)
                if name == "random_resized_crop" && ids.shape() == [images] =>
            {
                let crop = Crop::Resized { area: *area, log_ratio: *log_ratio, ratio: *ratio };
                Ok(Regions::Drawn { key: *key, ids: ids.as_slice()?, op: *op, crop })
            }
            Self::Sized(name, key, ids, op, size) if name == "random_crop" && ids.shape() == [images] => {
                Ok(Regions::Drawn { key: *key, ids: ids.as_slice()?, op: *op, crop: Crop::Sized(*size) })
            }
            Self::Central(name, share) if name == "central_crop" && (0.0..=1.0).contains(share) => {
                Ok(Regions::Central(*share))
            }
            Self::Resized(name, ..) | Self::Sized(name, ..) | Self::Central(name, _) => Err(PyValueError::new_err(
                format!("regions: {name:?} with other values, or for other than {images} images"),
            )),
        }
    }
}

/// The arguments that JPEGs and decoded images share, checked.
struct Job<'a> {
    plan: Plan,
    regions: Regions<'a>,
    out: Memory,
    dtype: String,
}

impl<'a> Job<'a> {
    fn new(
        images: usize,
        regions: Option<&'a Choice<'_>>,
        resize: Resize,
        from: Kind,
        steps: &[Bound<'_, PyTuple>],
        out: &Bound<'_, PyUntypedArray>,
    ) -> PyResult<Self> {
        let memory = Memory::of(out, "out")?;
        let &[rows, a, b, c] = out.shape() else {
            return Err(PyValueError::new_err(format!("out has shape {:?}, expected four axes", out.shape())));
        };
        if rows != images || !is_writable(out) {
            return Err(PyValueError::new_err(format!("out must be writable, with {images} rows; it has {rows}")));
        }
        let regions = regions.map_or(Ok(Regions::Whole), |choice| choice.regions(images))?;
        let (steps, layout) = parse_steps(steps)?;
        let (height, width, channels) = if layout == Layout::ChannelsLast { (a, b, c) } else { (b, c, a) };
        let shape = Shape { height, width, channels };
        let (plan, kind) = Plan::new(images, shape, layout, resize, from, &steps).map_err(PyValueError::new_err)?;
        let descr = out.dtype();
        let dtype: String = descr.getattr("name")?.extract()?;
        let fits = match kind {
            Kind::Bytes => dtype == "uint8",
            Kind::Floats => matches!(dtype.as_str(), "float32" | "float16" | "bfloat16"),
        };
        if !fits || descr.is_native_byteorder() == Some(false) || !memory.is_aligned(descr.itemsize()) {
            return Err(PyTypeError::new_err(format!("out is {dtype}, the steps end with {kind:?}")));
        }
        Ok(Self { plan, regions, out: memory, dtype })
    }

    /// Run `work` on the output in its dtype.
    fn run(self, work: impl Work) -> Vec<Failure> {
        // SAFETY: `out` is C-contiguous, writable, aligned, of that dtype and size (`new`), kept alive and not resized
        // while the caller holds it, and shares no memory with the sources (`fused_pixels` checks; bytes are immutable).
        unsafe {
            match self.dtype.as_str() {
                "uint8" => work.run::<u8>(&self.plan, self.regions, self.out.as_mut_slice()),
                "float16" => work.run::<f16>(&self.plan, self.regions, self.out.as_mut_slice()),
                "bfloat16" => work.run::<bf16>(&self.plan, self.regions, self.out.as_mut_slice()),
                _ => work.run::<f32>(&self.plan, self.regions, self.out.as_mut_slice()),
            }
        }
    }
}

trait Work {
    fn run<T: Store>(self, plan: &Plan, regions: Regions, out: &mut [T]) -> Vec<Failure>;
}

struct Files<'a> {
    sources: &'a [Source<'a>],
    decoding: Decoding,
}

impl Work for Files<'_> {
    fn run<T: Store>(self, plan: &Plan, regions: Regions, out: &mut [T]) -> Vec<Failure> {
        fused::files(plan, self.sources, regions, self.decoding, out)
    }
}

struct Pixels<'a, S>(&'a [(&'a [S], Shape)]);

impl<S: penstock_kernels::resize::Sample> Work for Pixels<'_, S> {
    fn run<T: Store>(self, plan: &Plan, regions: Regions, out: &mut [T]) -> Vec<Failure> {
        fused::pixels(plan, self.0, regions, out)
    }
}

fn resize_to(
    size: Option<(usize, usize)>,
    antialias: bool,
    steps: &[Bound<'_, PyTuple>],
    out: &Bound<'_, PyUntypedArray>,
) -> PyResult<Resize> {
    let Some((height, width)) = size else { return Ok(Resize::None) };
    let first = match steps.last() {
        Some(last) => last.get_item(0)?.extract::<String>()? == "channels_first",
        None => false,
    };
    let axis = if first { 2 } else { 1 };
    if out.ndim() != 4 || out.shape()[axis..axis + 2] != [height, width] || height == 0 || width == 0 {
        return Err(PyValueError::new_err(format!("out has shape {:?}, the size is {height} x {width}", out.shape())));
    }
    Ok(Resize::By(Filter::Bilinear { antialias }))
}

#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of the Python function")]
pub fn fused_images(
    py: Python<'_>,
    contents: Vec<Content>,
    regions: Option<Choice<'_>>,
    size: Option<(usize, usize)>,
    antialias: bool,
    steps: Vec<Bound<'_, PyTuple>>,
    out: Bound<'_, PyUntypedArray>,
    channels: usize,
    max_pixels: usize,
    allow_truncated: bool,
    is_oriented: bool,
    is_fast: bool,
    is_reference: bool,
    file_format: &str,
) -> PyResult<Reasons> {
    if ![0, 1, 3].contains(&channels) {
        return Err(PyValueError::new_err(format!("channels is {channels}, expected 0, 1 or 3")));
    }
    let format = match file_format {
        "jpeg" => Format::Jpeg,
        "png" => Format::Png,
        "any" => Format::Any,
        _ => return Err(PyValueError::new_err(format!("file_format is {file_format:?}, expected jpeg, png or any"))),
    };
    let resize = resize_to(size, antialias, &steps, &out)?;
    let job = Job::new(contents.len(), regions.as_ref(), resize, Kind::Bytes, &steps, &out)?;
    let sources: Vec<Source> = contents.iter().map(Content::source).collect();
    let reading = Reading { channels, limit_pixels: max_pixels, allow_truncated, is_oriented, is_reference };
    let work = Files { sources: &sources, decoding: Decoding { format, reading, is_fast } };
    Ok(reasons(py.detach(|| job.run(work))))
}

/// Decoded images of one block: all uint8 or all float32.
#[derive(FromPyObject)]
pub enum Decoded<'py> {
    Bytes(Vec<PyReadonlyArray3<'py, u8>>),
    Floats(Vec<PyReadonlyArray3<'py, f32>>),
}

#[pyfunction]
pub fn fused_pixels(
    py: Python<'_>,
    images: Decoded<'_>,
    regions: Option<Choice<'_>>,
    size: Option<(usize, usize)>,
    antialias: bool,
    steps: Vec<Bound<'_, PyTuple>>,
    out: Bound<'_, PyUntypedArray>,
) -> PyResult<Reasons> {
    let resize = resize_to(size, antialias, &steps, &out)?;
    let (count, kind) = match &images {
        Decoded::Bytes(images) => (images.len(), Kind::Bytes),
        Decoded::Floats(images) => (images.len(), Kind::Floats),
    };
    let job = Job::new(count, regions.as_ref(), resize, kind, &steps, &out)?;
    match &images {
        Decoded::Bytes(images) => run_pixels(py, images, job),
        Decoded::Floats(images) => run_pixels(py, images, job),
    }
}

fn run_pixels<S: penstock_kernels::resize::Sample + numpy::Element>(
    py: Python<'_>,
    images: &[PyReadonlyArray3<'_, S>],
    job: Job<'_>,
) -> PyResult<Reasons> {
    let mut slices = Vec::with_capacity(images.len());
    for (number, image) in images.iter().enumerate() {
        if Memory::of(image.as_untyped(), &format!("images[{number}]"))?.overlaps(job.out) {
            return Err(PyValueError::new_err(format!("images[{number}] shares memory with out")));
        }
        let &[height, width, channels] = image.shape() else { unreachable!("three axes, by its type") };
        slices.push((image.as_slice()?, Shape { height, width, channels }));
    }
    Ok(reasons(py.detach(|| job.run(Pixels(&slices)))))
}
