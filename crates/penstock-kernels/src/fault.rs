//! Why bytes could not be decoded, in one short line.

use std::fmt;

/// Bytes are not what the decoder takes; `reason` says why, with the byte offset where it is known, `remedy` what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeFault {
    pub reason: String,
    pub remedy: Option<&'static str>,
}

impl DecodeFault {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), remedy: None }
    }

    pub fn with_remedy(self, remedy: &'static str) -> Self {
        Self { remedy: Some(remedy), ..self }
    }

    /// The fault of bytes that do not start as a `format` file does.
    pub fn not_a(format: &str, data: &[u8]) -> Self {
        if data.is_empty() {
            return Self::new("empty: 0 bytes");
        }
        let start: Vec<String> = data.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let looks = known_format(data).map_or(String::new(), |name| format!(" ({name})"));
        Self::new(format!("not a {format}: starts with {}{looks}", start.join(" ")))
    }
}

impl fmt::Display for DecodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for DecodeFault {}

/// The pixels of a `height` x `width` image, unless they are none or more than `limit`.
pub fn check_pixels(width: usize, height: usize, limit: usize) -> Result<usize, DecodeFault> {
    match width.checked_mul(height) {
        Some(0) => Err(DecodeFault::new(format!("no pixels: its header says {width} x {height}"))),
        Some(pixels) if pixels <= limit => Ok(pixels),
        _ => {
            let reason = format!("too large: its header says {width} x {height} pixels, the limit is {limit}");
            Err(DecodeFault::new(reason).with_remedy("raise Options(max_image_pixels=...) if the file is trusted"))
        }
    }
}

fn known_format(data: &[u8]) -> Option<&'static str> {
    const STARTS: [(&[u8], &str); 12] = [
        (b"\x89PNG", "a PNG"),
        (b"\xff\xd8\xff", "a JPEG"),
        (b"GIF8", "a GIF"),
        (b"BM", "a BMP"),
        (b"II*\0", "a TIFF"),
        (b"MM\0*", "a TIFF"),
        (b"%PDF", "a PDF"),
        (b"\x1f\x8b", "gzip data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"<!", "HTML or XML"),
        (b"<html", "HTML"),
        (b"version https://git-lfs", "a Git LFS pointer"),
    ];
    if data.starts_with(b"RIFF") && data.get(8..12) == Some(b"WEBP") {
        return Some("a WebP");
    }
    if data.get(4..8) == Some(b"ftyp") {
        return Some("a HEIF, AVIF or MP4");
    }
    STARTS.iter().find(|(start, _)| data.starts_with(start)).map(|&(_, name)| name)
}
