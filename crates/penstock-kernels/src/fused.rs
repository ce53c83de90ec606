//! One pass per image: decode the region, resize it, adjust it row by row, write it into its place in the batch.
//!
//! Equal to the ops applied one after another, in the same order: rows are float32 between steps, nothing is reordered
//! or fused, and every kernel is the one that the single op runs. What is saved is what lies between: whole images in
//! memory, blocks of the JPEG that no pixel needs, a pass for each step.
//!
//! An image that fails leaves zeros in its place and a reason; the others are not touched by it.

mod color;
mod regions;
mod rows;
mod steps;

use std::cell::RefCell;
use std::path::Path;

pub use regions::{Crop, Regions};
pub use rows::Store;
pub use steps::{Kind, Step};

use crate::fault::DecodeFault;
use crate::file::read_whole;
use crate::image::{Image, Region};
use crate::jpeg::{self, with_decoder, Reading, Request, Window};
use crate::resize::{Filter, Resizer, Sample, Shape, View};
use crate::{bitmap, png};
use color::channel_means;
use rows::{apply, finish_streams, load, split};
use steps::{compile, Op, Program, Sizes};

/// Where the channels of an image stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    ChannelsLast,
    ChannelsFirst,
}

/// How source pixels become the size of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// The region has that size already.
    None,
    By(Filter),
}

/// What is done with each image of a block, checked once.
#[derive(Debug)]
pub struct Plan {
    /// Of the output.
    shape: Shape,
    images: usize,
    resize: Resize,
    layout: Layout,
    program: Program,
}

impl Plan {
    /// Steps for `images` images of `shape`, from pixels of the kind `from`; gives the kind that they end with as well.
    pub fn new(
        images: usize,
        shape: Shape,
        layout: Layout,
        resize: Resize,
        from: Kind,
        steps: &[Step],
    ) -> Result<(Self, Kind), String> {
        let start = if resize == Resize::None { from } else { Kind::Floats };
        let (program, kind) = compile(steps, start, Sizes { images, width: shape.width, channels: shape.channels })?;
        Ok((Self { shape, images, resize, layout, program }, kind))
    }

    fn image_len(&self) -> usize {
        self.shape.height * self.shape.width * self.shape.channels
    }
}

/// A row of the block that failed, and why.
pub type Failure = (usize, DecodeFault);

/// Where the bytes of an image are.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    Bytes(&'a [u8]),
    File(&'a Path),
}

/// What a file may be: what the op that is asked for takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Jpeg,
    Png,
    /// A JPEG, PNG, WebP, BMP or GIF, told apart by their first bytes.
    Any,
}

impl Format {
    fn is_jpeg(self, contents: &[u8]) -> bool {
        self == Self::Jpeg || self == Self::Any && contents.starts_with(b"\xff\xd8")
    }

    fn is_png(self, contents: &[u8]) -> bool {
        self == Self::Png || self == Self::Any && contents.starts_with(b"\x89PNG")
    }
}

/// How the files of a block are read. `is_fast`: of a JPEG, a region of at least twice the size of the output may be decoded at 1/2,
/// 1/4 or 1/8 of its size.
#[derive(Clone, Copy, Debug)]
pub struct Decoding {
    pub format: Format,
    pub reading: Reading,
    pub is_fast: bool,
}

/// Memory that a thread uses again for its next image.
#[derive(Default)]
struct Scratch {
    file: Vec<u8>,
    pixels: Vec<u8>,
    /// The pixels turned upright, of an image that is stored otherwise.
    upright: Vec<u8>,
    resizer: Resizer,
    row: Vec<f32>,
    planes: Vec<f32>,
    image: Vec<f32>,
    means: Vec<f32>,
}

/// The place of an image in the batch, and whether it is written past the caches.
struct Place<'a, T> {
    out: &'a mut [T],
    streams: bool,
}

/// A block of this many bytes would not stay in the caches until it is read, and pushes out what would: 150 us an image
/// become 105 (benchmarks/micro/fused_image.py, resize and normalise alone).
const STREAMED_BYTES: usize = 4 << 20;

/// More than this many bytes of pixels are given back when a block is done.
const KEPT_BYTES: usize = 64 << 20;

thread_local!(static SCRATCH: RefCell<Scratch> = RefCell::default());

/// Decode files, or a region of each, and write them into `out`, one after another.
pub fn files<T: Store>(
    plan: &Plan,
    sources: &[Source],
    regions: Regions,
    decoding: Decoding,
    out: &mut [T],
) -> Vec<Failure> {
    let target = (decoding.is_fast && plan.resize != Resize::None).then_some((plan.shape.height, plan.shape.width));
    let failures = each(plan, out, |image, scratch, place| {
        let mut file = std::mem::take(&mut scratch.file);
        let contents = match sources[image] {
            Source::Bytes(bytes) => Ok(bytes),
            Source::File(path) => read_whole(path, &mut file).map_err(|error| DecodeFault::new(error.to_string())),
        };
        let mut pixels = std::mem::take(&mut scratch.pixels);
        let mut upright = std::mem::take(&mut scratch.upright);
        let done = contents.and_then(|contents| {
            if !decoding.format.is_jpeg(contents) {
                let decoded = decode_other(contents, decoding, std::mem::take(&mut pixels))?;
                let shape = Shape { height: decoded.height, width: decoded.width, channels: decoded.channels };
                let view = part(&decoded.data, shape, regions.of(image, shape.height, shape.width)?)?;
                let done = run(plan, scratch, view, spans_of(&view), image, place);
                pixels = decoded.data;
                return done;
            }
            let region = if regions.need_shapes() {
                let [height, width, _] = jpeg::shape(contents, decoding.reading.is_oriented)?;
                regions.of(image, height, width)?
            } else {
                regions.of(image, 0, 0)?
            };
            let request = Request { reading: decoding.reading, region, target };
            let window = with_decoder(|decoder| decoder.decode(contents, request, &mut pixels))?;
            let (view, spans) = view_of(&window, &pixels, &mut upright);
            run(plan, scratch, view, spans, image, place)
        });
        (scratch.file, scratch.pixels, scratch.upright) = (file, pixels, upright);
        done
    });
    SCRATCH.with_borrow_mut(|scratch| {
        for kept in [&mut scratch.file, &mut scratch.pixels, &mut scratch.upright] {
            if kept.capacity() > KEPT_BYTES {
                *kept = Vec::new();
            }
        }
    });
    failures
}

/// A file that is no JPEG, whole and upright as asked; into the memory of `spare` where that can be.
fn decode_other(contents: &[u8], decoding: Decoding, spare: Vec<u8>) -> Result<Image<u8>, DecodeFault> {
    let Reading { channels, limit_pixels, is_oriented, .. } = decoding.reading;
    if decoding.format.is_png(contents) {
        png::decode_u8_with(contents, channels, limit_pixels, is_oriented, spare)
    } else {
        bitmap::decode(contents, channels, limit_pixels, is_oriented)
    }
}

/// A region of an image, or all of it.
fn part<S>(data: &[S], whole: Shape, region: Option<Region>) -> Result<View<'_, S>, DecodeFault> {
    let pitch = whole.width * whole.channels;
    let Some(region) = region else { return Ok(View { data, first: 0, pitch, shape: whole }) };
    region.check_inside(whole.height, whole.width)?;
    let shape = Shape { height: region.height, width: region.width, channels: whole.channels };
    Ok(View { data, first: region.top * pitch + region.left * whole.channels, pitch, shape })
}

/// All of a view.
fn spans_of<S>(view: &View<S>) -> Spans {
    [(0.0, view.shape.height as f32), (0.0, view.shape.width as f32)]
}

/// Where a region starts and how long it is, (down, across), in pixels and fractions.
type Spans = [(f32, f32); 2];

/// The decoded pixels upright, and what of them is the region.
fn view_of<'a>(window: &Window, pixels: &'a [u8], upright: &'a mut Vec<u8>) -> (View<'a, u8>, Spans) {
    let &Window { first, pitch, height, width, channels, spans: [down, across], orientation } = window;
    if orientation.is_upright() {
        let shape = Shape { height, width, channels };
        return (View { data: pixels, first, pitch, shape }, [down, across]);
    }
    orientation.turn(&pixels[first..], pitch, (height, width, channels), upright);
    let spans = orientation.spans(down, across, height, width);
    let (height, width) = orientation.upright(height, width);
    let shape = Shape { height, width, channels };
    (View { data: upright, first: 0, pitch: width * channels, shape }, spans)
}

/// As `files`, from images that are decoded: each its values and its shape.
pub fn pixels<S: Sample, T: Store>(
    plan: &Plan,
    images: &[(&[S], Shape)],
    regions: Regions,
    out: &mut [T],
) -> Vec<Failure> {
    each(plan, out, |image, scratch, place| {
        let (data, whole) = images[image];
        let view = part(data, whole, regions.of(image, whole.height, whole.width)?)?;
        run(plan, scratch, view, spans_of(&view), image, place)
    })
}

fn each<T: Store>(
    plan: &Plan,
    out: &mut [T],
    mut work: impl FnMut(usize, &mut Scratch, Place<T>) -> Result<(), DecodeFault>,
) -> Vec<Failure> {
    let mut failures = Vec::new();
    if plan.image_len() == 0 {
        return failures;
    }
    let streams = size_of_val(out) >= STREAMED_BYTES;
    for (image, out) in out.chunks_exact_mut(plan.image_len()).enumerate().take(plan.images) {
        if let Err(fault) = SCRATCH.with_borrow_mut(|scratch| work(image, scratch, Place { out, streams })) {
            out.fill(T::default());
            failures.push((image, fault));
        }
    }
    if streams {
        finish_streams();
    }
    failures
}

fn run<S: Sample, T: Store>(
    plan: &Plan,
    scratch: &mut Scratch,
    view: View<S>,
    spans: Spans,
    image: usize,
    place: Place<T>,
) -> Result<(), DecodeFault> {
    let Shape { height, width, channels } = plan.shape;
    let from = view.shape;
    let resized = plan.resize != Resize::None;
    if from.channels != channels || from.height == 0 || from.width == 0 {
        return Err(misfit(from, plan));
    }
    if !resized && (from.height, from.width) != (height, width) {
        return Err(misfit(from, plan));
    }
    let mirrored = plan.program.mirrored(image);
    if let Resize::By(filter) = plan.resize {
        scratch.resizer.begin_within(from, spans, (height, width), filter, mirrored);
    }
    let resizer = &mut scratch.resizer;
    let read = |y: usize, row: &mut [f32]| {
        if resized {
            resizer.row(view, y, row);
        } else {
            load(view.from_row(y), channels, mirrored, row);
        }
    };
    let buffers = Buffers { row: &mut scratch.row, planes: &mut scratch.planes, image: &mut scratch.image };
    passes(plan, image, read, buffers, &mut scratch.means, place);
    Ok(())
}

fn misfit(from: Shape, plan: &Plan) -> DecodeFault {
    let Shape { height, width, channels } = plan.shape;
    DecodeFault::new(format!(
        "the image is {} x {} x {}, its place in the batch {height} x {width} x {channels}",
        from.height, from.width, from.channels
    ))
}

struct Buffers<'a> {
    row: &'a mut Vec<f32>,
    planes: &'a mut Vec<f32>,
    image: &'a mut Vec<f32>,
}

/// Read, apply and write row by row; a contrast needs the whole image before it, and so a pass of its own.
fn passes<T: Store>(
    plan: &Plan,
    image: usize,
    mut read: impl FnMut(usize, &mut [f32]),
    buffers: Buffers,
    means: &mut Vec<f32>,
    place: Place<T>,
) {
    let row_len = plan.shape.width * plan.shape.channels;
    let (whole, mut writer) = (buffers.image, Writer { plan, row: buffers.row, planes: buffers.planes, place });
    let (first, rest) = plan.program.segments.split_first().unwrap_or_else(|| unreachable!("never empty"));
    let Some((last, between)) = rest.split_last() else {
        for y in 0..plan.shape.height {
            writer.row(y, |row| {
                read(y, row);
                first.iter().for_each(|op| apply(op, image, &[], row));
            });
        }
        return;
    };
    whole.resize(plan.image_len(), 0.0);
    for (y, row) in whole.chunks_exact_mut(row_len).enumerate() {
        read(y, row);
        first.iter().for_each(|op| apply(op, image, &[], row));
    }
    for segment in between {
        take_means(segment, plan, whole, means);
        for row in whole.chunks_exact_mut(row_len) {
            segment.iter().for_each(|op| apply(op, image, means, row));
        }
    }
    take_means(last, plan, whole, means);
    for (y, held) in whole.chunks_exact(row_len).enumerate() {
        writer.row(y, |row| {
            row.copy_from_slice(held);
            last.iter().for_each(|op| apply(op, image, means, row));
        });
    }
}

fn take_means(segment: &[Op], plan: &Plan, whole: &[f32], means: &mut Vec<f32>) {
    if let Some(Op::Color { kind, .. }) = segment.first() {
        channel_means(whole, plan.shape.channels, *kind, means, plan.shape.width * plan.shape.channels);
    }
}

/// Rows into an image of the batch, in its layout and dtype.
struct Writer<'a, T> {
    plan: &'a Plan,
    row: &'a mut Vec<f32>,
    planes: &'a mut Vec<f32>,
    place: Place<'a, T>,
}

impl<T: Store> Writer<'_, T> {
    /// Write row `y`, which `make` fills.
    fn row(&mut self, y: usize, make: impl FnOnce(&mut [f32])) {
        let Shape { height, width, channels } = self.plan.shape;
        let row_len = width * channels;
        // Not in place: to read back what was just written to the batch is to wait for its memory.
        self.row.resize(row_len, 0.0);
        make(self.row);
        let Place { out, streams } = &mut self.place;
        let store = if *streams { T::stream } else { T::store };
        if self.plan.layout == Layout::ChannelsLast || channels == 1 {
            return store(self.row, &mut out[y * row_len..][..row_len]);
        }
        self.planes.resize(row_len, 0.0);
        split(self.row, channels, self.planes);
        for (channel, plane) in self.planes.chunks_exact(width).enumerate() {
            store(plane, &mut out[(channel * height + y) * width..][..width]);
        }
    }
}
