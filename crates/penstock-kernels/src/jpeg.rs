//! JPEG decoding by libjpeg-turbo (docs/decisions/2026-11-21-jpeg-library.md).
//!
//! What libjpeg calls a warning is an error here (a premature end, a bad code), except those of `HARMLESS`, with which
//! every pixel is still what was stored; a file with one is decoded again, past it. The library keeps the text of
//! the first warning alone, so the end-of-image marker is then looked for as well.
//!
//! Source of the CMYK conversion: TensorFlow, core/lib/jpeg/jpeg_mem.cc.

use std::ffi::{c_int, CStr};

use turbojpeg_sys as tj;

use crate::fault::{check_pixels, DecodeFault};
use crate::image::Image;

const HARMLESS: [&str; 3] =
    ["extraneous bytes before marker", "unknown JFIF revision", "unknown Adobe color transform"];
/// More scans than any encoder writes; a progressive file with thousands costs minutes.
const SCAN_LIMIT: c_int = 500;

/// Decode a whole JPEG into rows of `channels` bytes a pixel: 1, 3, or 0 for what is stored (grey 1, anything else 3).
pub fn decode(data: &[u8], channels: usize, limit_pixels: usize) -> Result<Image<u8>, DecodeFault> {
    if !data.starts_with(b"\xff\xd8") {
        return Err(DecodeFault::not_a("JPEG", data));
    }
    // Stopped at the first warning, a short file that claims to be large does not have its missing pixels made up.
    match attempt(data, channels, limit_pixels, true) {
        Err(Trouble::Harmless) => attempt(data, channels, limit_pixels, false),
        outcome => outcome,
    }
    .map_err(|trouble| match trouble {
        Trouble::Fault(fault) => fault,
        Trouble::Harmless => DecodeFault::new("corrupt JPEG: a warning where none stops"),
    })
}

enum Trouble {
    /// Stopped by a warning of `HARMLESS`.
    Harmless,
    Fault(DecodeFault),
}

impl From<DecodeFault> for Trouble {
    fn from(fault: DecodeFault) -> Self {
        Self::Fault(fault)
    }
}

fn attempt(data: &[u8], channels: usize, limit_pixels: usize, stops: bool) -> Result<Image<u8>, Trouble> {
    let decoder = Decoder::open(data, stops)?;
    let (width, height, space) = decoder.header()?;
    let pixels = check_pixels(width, height, limit_pixels)?;
    let four = space == tj::TJCS_TJCS_CMYK || space == tj::TJCS_TJCS_YCCK;
    let wanted = match channels {
        0 if space == tj::TJCS_TJCS_GRAY => 1,
        0 => 3,
        given => given,
    };
    let (format, depth) = match (four, wanted) {
        (true, _) => (tj::TJPF_TJPF_CMYK, 4),
        (false, 1) => (tj::TJPF_TJPF_GRAY, 1),
        (false, _) => (tj::TJPF_TJPF_RGB, 3),
    };
    let mut out = vec![0; pixels * depth];
    decoder.decode(format, width * depth, &mut out)?;
    if four {
        out = from_cmyk(&out, wanted, Markers::walk(data).adobe);
    }
    Ok(Image { data: out, height, width, channels: wanted })
}

struct Decoder<'a> {
    handle: tj::tjhandle,
    data: &'a [u8],
    stops: bool,
}

impl<'a> Decoder<'a> {
    fn open(data: &'a [u8], stops: bool) -> Result<Self, DecodeFault> {
        // SAFETY: makes a new handle or returns null; nothing is passed in.
        let handle = unsafe { tj::tj3Init(tj::TJINIT_TJINIT_DECOMPRESS as c_int) };
        if handle.is_null() {
            return Err(DecodeFault::new("no memory for a JPEG decoder"));
        }
        let decoder = Self { handle, data, stops };
        decoder.set(tj::TJPARAM_TJPARAM_SCANLIMIT, SCAN_LIMIT);
        decoder.set(tj::TJPARAM_TJPARAM_STOPONWARNING, c_int::from(stops));
        Ok(decoder)
    }

    fn get(&self, parameter: tj::TJPARAM) -> c_int {
        // SAFETY: the handle is live; unknown parameters give -1.
        unsafe { tj::tj3Get(self.handle, parameter as c_int) }
    }

    fn set(&self, parameter: tj::TJPARAM, value: c_int) {
        // SAFETY: the handle is live; a parameter or value that is refused changes nothing.
        unsafe { tj::tj3Set(self.handle, parameter as c_int, value) };
    }

    /// Width, height, colour space.
    fn header(&self) -> Result<(usize, usize, tj::TJCS), Trouble> {
        // SAFETY: the handle is live; pointer and length are those of one slice, which outlives the decoder.
        let status = unsafe { tj::tj3DecompressHeader(self.handle, self.data.as_ptr(), self.data.len() as tj::size_t) };
        self.check(status)?;
        let width = self.get(tj::TJPARAM_TJPARAM_JPEGWIDTH);
        let height = self.get(tj::TJPARAM_TJPARAM_JPEGHEIGHT);
        if width <= 0 || height <= 0 {
            // The library takes a file of tables alone for valid; it has no frame.
            let reason = format!("truncated: no image header in {} bytes", self.data.len());
            return Err(DecodeFault::new(reason).into());
        }
        Ok((width as usize, height as usize, self.get(tj::TJPARAM_TJPARAM_COLORSPACE) as tj::TJCS))
    }

    fn decode(&self, format: tj::TJPF, pitch: usize, out: &mut [u8]) -> Result<(), Trouble> {
        // SAFETY: the handle is live, `data` is the slice whose header gave the size, so `out` has `pitch` bytes for
        // each of the rows that are written (a pitch fits a c_int: JPEG widths stop at 65535).
        let status = unsafe {
            tj::tj3Decompress8(
                self.handle,
                self.data.as_ptr(),
                self.data.len() as tj::size_t,
                out.as_mut_ptr(),
                pitch as c_int,
                format,
            )
        };
        self.check(status)
    }

    fn check(&self, status: c_int) -> Result<(), Trouble> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the handle is live; the text is a C string inside it or of this thread, copied before the next call.
        let message = unsafe { CStr::from_ptr(tj::tj3GetErrorStr(self.handle)) }.to_string_lossy().into_owned();
        let length = self.data.len();
        let reason = if message.to_lowercase().contains("premature end") {
            format!("truncated: {message} ({length} bytes)")
        } else if !HARMLESS.iter().any(|text| message.contains(text)) {
            format!("corrupt JPEG: {message}")
        } else if self.stops {
            return Err(Trouble::Harmless);
        } else if !Markers::walk(self.data).ends {
            format!("truncated: no end-of-image marker in {length} bytes")
        } else {
            return Ok(());
        };
        Err(DecodeFault::new(reason).into())
    }
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `open`, destroyed once.
        unsafe { tj::tj3Destroy(self.handle) };
    }
}

/// What the marker segments say that the library does not pass on.
#[derive(Default)]
struct Markers {
    /// An Adobe segment: its four-channel images are stored inverted.
    adobe: bool,
    /// An end-of-image marker after the start of the first scan.
    ends: bool,
}

impl Markers {
    fn walk(data: &[u8]) -> Self {
        let mut found = Self::default();
        let mut at = 2;
        while let Some(&[0xFF, marker, high, low]) = data.get(at..at + 4).and_then(|head| head.first_chunk::<4>()) {
            if marker == 0xFF {
                at += 1; // a fill byte
                continue;
            }
            found.adobe |= marker == 0xEE && data[at + 4..].starts_with(b"Adobe");
            if marker == 0xDA {
                found.ends = data[at..].windows(2).any(|pair| pair == [0xFF, 0xD9]);
                break;
            }
            at += 2 + usize::from(u16::from_be_bytes([high, low]));
        }
        found
    }
}

fn from_cmyk(cmyk: &[u8], channels: usize, inverted: bool) -> Vec<u8> {
    let flip = if inverted { 0 } else { 255 };
    let ink = |value: u8, black: u8| (u32::from(value ^ flip) * u32::from(black ^ flip) / 255) as u8;
    let rgb = cmyk.chunks_exact(4).map(|p| [ink(p[0], p[3]), ink(p[1], p[3]), ink(p[2], p[3])]);
    if channels == 1 {
        rgb.map(crate::image::luma).collect()
    } else {
        rgb.flatten().collect()
    }
}
