//! JPEG encoding by libjpeg-turbo.

use std::ffi::{c_int, CStr};

use turbojpeg_sys as tj;

use crate::fault::DecodeFault;
use crate::resize::Shape;

/// How chroma is stored: its width and height as parts of the image's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    Full,
    HalfWidth,
    HalfBoth,
    HalfHeight,
    QuarterWidth,
    QuarterHeight,
}

/// How to encode. quality: 1 to 100.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub quality: u8,
    pub progressive: bool,
    /// Huffman tables made for the image: smaller, slower.
    pub optimize: bool,
    pub sampling: Sampling,
}

/// Encode an image of one channel or three.
pub fn encode(pixels: &[u8], shape: Shape, encoding: Encoding) -> Result<Vec<u8>, DecodeFault> {
    let Shape { height, width, channels } = shape;
    let fits = [height, width].iter().all(|side| (1..=65_500).contains(side));
    if !fits || ![1, 3].contains(&channels) || height * width * channels != pixels.len() {
        return Err(DecodeFault::new(format!("no JPEG holds {height} x {width} x {channels}")));
    }
    // SAFETY: makes a new handle or returns null; nothing is passed in.
    let handle = unsafe { tj::tj3Init(tj::TJINIT_TJINIT_COMPRESS as c_int) };
    if handle.is_null() {
        return Err(DecodeFault::new("no memory for a JPEG encoder"));
    }
    let encoder = Encoder { handle, buffer: std::ptr::null_mut() };
    encoder.run(pixels, shape, encoding)
}

struct Encoder {
    handle: tj::tjhandle,
    /// What the library allocated for the file.
    buffer: *mut u8,
}

impl Encoder {
    fn run(mut self, pixels: &[u8], shape: Shape, encoding: Encoding) -> Result<Vec<u8>, DecodeFault> {
        let (format, sampling) = match (shape.channels, encoding.sampling) {
            (1, _) => (tj::TJPF_TJPF_GRAY, tj::TJSAMP_TJSAMP_GRAY),
            (_, Sampling::Full) => (tj::TJPF_TJPF_RGB, tj::TJSAMP_TJSAMP_444),
            (_, Sampling::HalfWidth) => (tj::TJPF_TJPF_RGB, tj::TJSAMP_TJSAMP_422),
            (_, Sampling::HalfBoth) => (tj::TJPF_TJPF_RGB, tj::TJSAMP_TJSAMP_420),
            (_, Sampling::HalfHeight) => (tj::TJPF_TJPF_RGB, tj::TJSAMP_TJSAMP_440),
            (_, Sampling::QuarterWidth) => (tj::TJPF_TJPF_RGB, tj::TJSAMP_TJSAMP_411),
            (_, Sampling::QuarterHeight) => (tj::TJPF_TJPF_RGB, tj::TJSAMP_TJSAMP_441),
        };
        let parameters = [
            (tj::TJPARAM_TJPARAM_QUALITY, c_int::from(encoding.quality.clamp(1, 100))),
            (tj::TJPARAM_TJPARAM_SUBSAMP, sampling),
            (tj::TJPARAM_TJPARAM_PROGRESSIVE, c_int::from(encoding.progressive)),
            (tj::TJPARAM_TJPARAM_OPTIMIZE, c_int::from(encoding.optimize)),
        ];
        for (parameter, value) in parameters {
            // SAFETY: the handle is live; a value that is refused changes nothing.
            unsafe { tj::tj3Set(self.handle, parameter as c_int, value) };
        }
        let mut size: tj::size_t = 0;
        // SAFETY: the handle is live; `pixels` has width * channels bytes for each row (`encode`); the library allocates
        // the buffer, which `drop` frees.
        let status = unsafe {
            tj::tj3Compress8(
                self.handle,
                pixels.as_ptr(),
                shape.width as c_int,
                (shape.width * shape.channels) as c_int,
                shape.height as c_int,
                format,
                &mut self.buffer,
                &mut size,
            )
        };
        if status != 0 || self.buffer.is_null() {
            // SAFETY: the handle is live; the text is copied before the next call.
            let message = unsafe { CStr::from_ptr(tj::tj3GetErrorStr(self.handle)) }.to_string_lossy().into_owned();
            return Err(DecodeFault::new(format!("cannot encode a JPEG: {message}")));
        }
        // SAFETY: the library says that `size` bytes of its buffer are the file.
        Ok(unsafe { std::slice::from_raw_parts(self.buffer, size as usize) }.to_vec())
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the buffer is null or the library's own; the handle was made by `encode`; both are let go once.
        unsafe {
            tj::tj3Free(self.buffer.cast());
            tj::tj3Destroy(self.handle);
        }
    }
}
