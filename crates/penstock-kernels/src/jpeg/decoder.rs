//! A libjpeg-turbo decompressor that reads only the blocks that a region needs; before it, `baseline` is asked.
//!
//! A region is equal to the same part of the whole image. Chroma that is stored at half the width is interpolated between
//! neighbours, except at the edge of what is decoded; so the decoded window is wider than the region where it can be.
//! Rows need no such care: libjpeg-turbo reads the row above and below itself, and stops after the last.

use std::cell::RefCell;
use std::ffi::{c_int, CStr};

use turbojpeg_sys as tj;

use super::baseline::Baseline;
use super::markers::Markers;
use crate::exif::Orientation;
use crate::fault::{check_pixels, DecodeFault};
use crate::image::{luma, Region};

const HARMLESS: [&str; 3] =
    ["extraneous bytes before marker", "unknown JFIF revision", "unknown Adobe color transform"];
/// The warning of a file that ends before its image does; a scan that ends early inside the file has another.
const ENDED: &str = "Premature end of JPEG file";
const ALLOW: &str = "allow_truncated=True gives what is there, and grey below";
/// More scans than any encoder writes; a progressive file with thousands costs minutes.
const SCAN_LIMIT: c_int = 500;
/// Columns beyond the region that its own columns are interpolated with: one chroma sample on either side.
const MARGIN: usize = 2;
/// A progressive file may lack the last bits of its coefficients, without any warning; blocks are then smoothed with
/// those within two of them.
const SMOOTHED_BLOCKS: usize = 3;
/// Bytes kept after the last pixel, so that a kernel may load whole vectors.
pub(super) const PADDING: usize = 64;

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// 1, 3, or 0 for what is stored: grey 1, anything else 3.
    pub channels: usize,
    pub limit_pixels: usize,
    /// A file that ends early gives the pixels before its end, and grey below.
    pub allow_truncated: bool,
    /// Heights, widths and regions are those of the upright image.
    pub is_oriented: bool,
    /// libjpeg-turbo decodes every file, also those that `baseline` would: its slow twin.
    pub is_reference: bool,
}

/// What to decode. With a `target` (height, width), the region may come at 1/2, 1/4 or 1/8 of its size, not below it.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub reading: Reading,
    pub region: Option<Region>,
    pub target: Option<(usize, usize)>,
}

/// Where the decoded region lies in the buffer, as stored: rows of `pitch` bytes, the first from `first` on.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub first: usize,
    pub pitch: usize,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    /// Where the region starts in it and how long it is, (down, across), in its pixels: all of it, unless scaled.
    pub spans: [(f32, f32); 2],
    /// How it becomes upright.
    pub orientation: Orientation,
}

/// Run `work` with the decoder of this thread; one that failed is not used again.
pub fn with_decoder<R>(work: impl FnOnce(&mut Decoder) -> Result<R, DecodeFault>) -> Result<R, DecodeFault> {
    thread_local!(static DECODER: RefCell<Option<Decoder>> = const { RefCell::new(None) });
    DECODER.with_borrow_mut(|slot| {
        let mut decoder = slot.take().map_or_else(Decoder::new, Ok)?;
        let outcome = work(&mut decoder)?;
        *slot = Some(decoder);
        Ok(outcome)
    })
}

pub struct Decoder {
    handle: tj::tjhandle,
    /// Asked first.
    baseline: Box<Baseline>,
}

enum Trouble {
    /// Stopped by a warning of `HARMLESS`.
    Harmless,
    /// Stopped by the end of the file, where it may end early.
    Ended,
    Fault(DecodeFault),
}

impl From<DecodeFault> for Trouble {
    fn from(fault: DecodeFault) -> Self {
        Self::Fault(fault)
    }
}

/// One file, whether its first warning stops the decoder, and whether it may end early.
#[derive(Clone, Copy)]
struct Input<'a> {
    data: &'a [u8],
    stops: bool,
    allow_truncated: bool,
}

/// Of what the next call decodes: sides in scaled pixels, `parts` stored ones each.
struct Header {
    height: usize,
    width: usize,
    parts: usize,
    space: tj::TJCS,
    orientation: Orientation,
}

/// The header and region of the image at 1 / `parts` of its size, and what of that region the asked one covers.
fn scaled(header: Header, region: Region, parts: usize) -> (Header, [(f32, f32); 2], Region) {
    let side = |start: usize, length: usize| {
        let (first, end) = (start / parts, (start + length).div_ceil(parts));
        let offset = (start - first * parts) as f32 / parts as f32;
        (first, end - first, (offset, length as f32 / parts as f32))
    };
    let (top, height, down) = side(region.top, region.height);
    let (left, width, across) = side(region.left, region.width);
    let header = Header { height: header.height.div_ceil(parts), width: header.width.div_ceil(parts), parts, ..header };
    (header, [down, across], Region { top, left, height, width })
}

impl Decoder {
    fn new() -> Result<Self, DecodeFault> {
        Ok(Self { handle: new_handle()?, baseline: Box::default() })
    }

    /// Forget all files: the library keeps tables, which a file that lacks its own would be decoded with.
    fn renew(&mut self) -> Result<(), DecodeFault> {
        let handle = new_handle()?;
        // SAFETY: made by `new_handle`, destroyed once: another takes its place.
        unsafe { tj::tj3Destroy(std::mem::replace(&mut self.handle, handle)) };
        self.set(tj::TJPARAM_TJPARAM_SCANLIMIT, SCAN_LIMIT);
        Ok(())
    }

    /// Decode what is asked for into `out`, which grows and is used again; `PADDING` bytes follow the last row.
    pub fn decode(&mut self, data: &[u8], request: Request, out: &mut Vec<u8>) -> Result<Window, DecodeFault> {
        if !data.starts_with(b"\xff\xd8") {
            return Err(DecodeFault::not_a("JPEG", data));
        }
        if let Some(window) = self.baseline.decode(data, request, out) {
            return Ok(window);
        }
        self.renew()?;
        // Stopped at the first warning, a short file that claims to be large does not have its missing pixels made up.
        let input = Input { data, stops: true, allow_truncated: request.reading.allow_truncated };
        match self.attempt(input, request, out) {
            Err(Trouble::Harmless) => {
                self.renew()?;
                self.attempt(Input { stops: false, ..input }, request, out)
            }
            Err(Trouble::Ended) => {
                self.renew()?;
                let data = Markers::walk(data).without_cut_segment(data);
                self.attempt(Input { data, stops: false, ..input }, request, out)
            }
            outcome => outcome,
        }
        .map_err(|trouble| match trouble {
            Trouble::Fault(fault) => fault,
            Trouble::Harmless | Trouble::Ended => DecodeFault::new("corrupt JPEG: a warning where none stops"),
        })
    }

    fn attempt(&mut self, input: Input, request: Request, out: &mut Vec<u8>) -> Result<Window, Trouble> {
        self.set(tj::TJPARAM_TJPARAM_STOPONWARNING, c_int::from(input.stops));
        let header = self.header(input)?;
        let reading = request.reading;
        check_pixels(header.width, header.height, reading.limit_pixels)?;
        let orientation = if reading.is_oriented { header.orientation } else { Orientation::default() };
        let (height, width) = orientation.upright(header.height, header.width);
        let region = request.region.unwrap_or(Region { top: 0, left: 0, height, width });
        region.check_inside(height, width)?;
        let parts = request.target.map_or(1, |target| self.scale_for(region, target));
        self.set_scale(parts);
        let region = orientation.stored(region, header.height, header.width);
        let (header, spans, region) = scaled(header, region, parts);
        let four = header.space == tj::TJCS_TJCS_CMYK || header.space == tj::TJCS_TJCS_YCCK;
        let channels = match reading.channels {
            0 if header.space == tj::TJCS_TJCS_GRAY => 1,
            0 => 3,
            given => given,
        };
        let (format, depth) = match (four, channels) {
            (true, _) => (tj::TJPF_TJPF_CMYK, 4),
            (false, 1) => (tj::TJPF_TJPF_GRAY, 1),
            (false, _) => (tj::TJPF_TJPF_RGB, 3),
        };
        let window = self.crop(region, &header);
        grow(out, window.height * window.width * depth + PADDING);
        self.pixels(input, format, window.width * depth, out)?;
        // Rows below the region are not read, so a file cut there would pass unseen.
        if window.top + window.height < header.height && !reading.allow_truncated {
            let markers = Markers::walk(input.data);
            if !markers.ends(input.data) {
                return Err(no_end(input.data).into());
            }
        }
        if four {
            from_cmyk(out, window.height * window.width, channels, Markers::walk(input.data).adobe);
        }
        let pitch = window.width * channels;
        Ok(Window {
            first: (region.top - window.top) * pitch + (region.left - window.left) * channels,
            pitch,
            height: region.height,
            width: region.width,
            channels,
            spans,
            orientation,
        })
    }

    /// How many pixels of a side become one: 8, 4 or 2 where the region stays as large as its target, else 1.
    fn scale_for(&self, region: Region, (height, width): (usize, usize)) -> usize {
        let fits = |parts: usize| region.height >= parts * height && region.width >= parts * width;
        // Lossless files have no blocks to scale.
        let choices: &[usize] = if self.get(tj::TJPARAM_TJPARAM_LOSSLESS) == 1 { &[] } else { &[8, 4, 2] };
        choices.iter().copied().find(|&parts| fits(parts)).unwrap_or(1)
    }

    fn set_scale(&self, parts: usize) {
        let factor = tj::tjscalingfactor { num: 1, denom: parts as c_int };
        // SAFETY: the handle is live; the factor is passed by value; one that is refused changes nothing.
        unsafe { tj::tj3SetScalingFactor(self.handle, factor) };
    }

    /// Have the next call decode `region` and the columns its own depend on; gives the window that it will decode.
    fn crop(&self, region: Region, header: &Header) -> Region {
        let whole = Region { top: 0, left: 0, height: header.height, width: header.width };
        let block_width = match self.get(tj::TJPARAM_TJPARAM_SUBSAMP) {
            tj::TJSAMP_TJSAMP_444 | tj::TJSAMP_TJSAMP_GRAY | tj::TJSAMP_TJSAMP_440 | tj::TJSAMP_TJSAMP_441 => 8,
            tj::TJSAMP_TJSAMP_422 | tj::TJSAMP_TJSAMP_420 => 16,
            tj::TJSAMP_TJSAMP_411 => 32,
            _ => return self.set_region(whole, whole),
        };
        let block_width = (block_width / header.parts).max(1);
        let margin = match (self.get(tj::TJPARAM_TJPARAM_PROGRESSIVE), block_width) {
            (1, _) => SMOOTHED_BLOCKS * block_width,
            (_, 8) => 0,
            _ => MARGIN,
        };
        let left = region.left.saturating_sub(margin) / block_width * block_width;
        let right = (region.left + region.width + margin).min(header.width);
        let wanted = Region { top: region.top, left, height: region.height, width: right - left };
        self.set_region(wanted, whole)
    }

    fn set_region(&self, wanted: Region, whole: Region) -> Region {
        let side = |value: usize| value as c_int; // JPEG sides stop at 65535
        let full = wanted.height == whole.height && wanted.width == whole.width;
        let (x, y, w, h) = if full { (0, 0, 0, 0) } else { (wanted.left, wanted.top, wanted.width, wanted.height) };
        let region = tj::tjregion { x: side(x), y: side(y), w: side(w), h: side(h) };
        // SAFETY: the handle is live; the region is passed by value.
        if unsafe { tj::tj3SetCroppingRegion(self.handle, region) } == 0 {
            return wanted;
        }
        // Refused (a lossless file, 12 bits a sample): all of it then.
        let none = tj::tjregion { x: 0, y: 0, w: 0, h: 0 };
        // SAFETY: as above; no region is never refused.
        unsafe { tj::tj3SetCroppingRegion(self.handle, none) };
        whole
    }

    fn get(&self, parameter: tj::TJPARAM) -> c_int {
        // SAFETY: the handle is live; unknown parameters give -1.
        unsafe { tj::tj3Get(self.handle, parameter as c_int) }
    }

    fn set(&self, parameter: tj::TJPARAM, value: c_int) {
        // SAFETY: the handle is live; a parameter or value that is refused changes nothing.
        unsafe { tj::tj3Set(self.handle, parameter as c_int, value) };
    }

    fn header(&self, input: Input) -> Result<Header, Trouble> {
        let data = input.data;
        // SAFETY: the handle is live; pointer and length are those of one slice; the library keeps neither past the
        // call (each call sets its source anew).
        let status = unsafe { tj::tj3DecompressHeader(self.handle, data.as_ptr(), data.len() as tj::size_t) };
        // A header that ends early has no pixels to give.
        self.check(status, Input { allow_truncated: false, ..input })?;
        let (width, height) = (self.get(tj::TJPARAM_TJPARAM_JPEGWIDTH), self.get(tj::TJPARAM_TJPARAM_JPEGHEIGHT));
        // The library takes a file of tables alone for valid; it has no frame, and the size is that of the last file.
        let markers = Markers::walk(data);
        if width <= 0 || height <= 0 || !markers.has_frame() {
            return Err(DecodeFault::new(format!("truncated: no image header in {} bytes", data.len())).into());
        }
        let space = self.get(tj::TJPARAM_TJPARAM_COLORSPACE) as tj::TJCS;
        let (height, width) = (height as usize, width as usize);
        Ok(Header { height, width, parts: 1, space, orientation: markers.orientation() })
    }

    fn pixels(&self, input: Input, format: tj::TJPF, pitch: usize, out: &mut [u8]) -> Result<(), Trouble> {
        // SAFETY: the handle is live; `data` is the slice whose header gave the size and whose cropping region was set
        // since, so `out` has `pitch` bytes for each of the rows that are written (a pitch fits a c_int: JPEG widths
        // stop at 65535).
        let status = unsafe {
            tj::tj3Decompress8(
                self.handle,
                input.data.as_ptr(),
                input.data.len() as tj::size_t,
                out.as_mut_ptr(),
                pitch as c_int,
                format,
            )
        };
        self.check(status, input)
    }

    fn check(&self, status: c_int, input: Input) -> Result<(), Trouble> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the handle is live; the text is a C string inside it or of this thread, copied before the next call.
        let message = unsafe { CStr::from_ptr(tj::tj3GetErrorStr(self.handle)) }.to_string_lossy().into_owned();
        if message.contains(ENDED) {
            let markers = Markers::walk(input.data);
            if !input.allow_truncated || !markers.has_pixels(input.data) {
                let reason = format!("truncated: {message} ({} bytes)", input.data.len());
                return Err(DecodeFault::new(reason).with_remedy(ALLOW).into());
            }
            return if input.stops { Err(Trouble::Ended) } else { Ok(()) };
        }
        if !HARMLESS.iter().any(|text| message.contains(text)) {
            return Err(DecodeFault::new(format!("corrupt JPEG: {message}")).into());
        }
        if input.stops {
            return Err(Trouble::Harmless);
        }
        if input.allow_truncated || Markers::walk(input.data).ends(input.data) {
            Ok(())
        } else {
            Err(no_end(input.data).into())
        }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: made by `new_handle`, destroyed once.
        unsafe { tj::tj3Destroy(self.handle) };
    }
}

fn new_handle() -> Result<tj::tjhandle, DecodeFault> {
    // SAFETY: makes a new handle or returns null; nothing is passed in.
    let handle = unsafe { tj::tj3Init(tj::TJINIT_TJINIT_DECOMPRESS as c_int) };
    if handle.is_null() {
        return Err(DecodeFault::new("no memory for a JPEG decoder"));
    }
    Ok(handle)
}

fn no_end(data: &[u8]) -> DecodeFault {
    DecodeFault::new(format!("truncated: no end-of-image marker in {} bytes", data.len())).with_remedy(ALLOW)
}

/// At least `len` bytes; a larger buffer is fresh zero pages, which cost nothing until they are written.
pub(super) fn grow(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() < len {
        *buffer = vec![0; len];
    }
}

/// CMYK to RGB or grey, in place: a pixel becomes smaller. Source: TensorFlow, core/lib/jpeg/jpeg_mem.cc.
fn from_cmyk(buffer: &mut [u8], pixels: usize, channels: usize, inverted: bool) {
    let flip = if inverted { 0 } else { 255 };
    let ink = |value: u8, black: u8| (u32::from(value ^ flip) * u32::from(black ^ flip) / 255) as u8;
    for pixel in 0..pixels {
        let at = 4 * pixel;
        let black = buffer[at + 3];
        let rgb = [0, 1, 2].map(|ink_number| ink(buffer[at + ink_number], black));
        if channels == 1 {
            buffer[pixel] = luma(rgb);
        } else {
            buffer[3 * pixel..][..3].copy_from_slice(&rgb);
        }
    }
}
