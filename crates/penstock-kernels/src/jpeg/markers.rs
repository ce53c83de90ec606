//! The marker segments of a JPEG up to its first scan: size, number of components, and what the library keeps to itself.

use crate::exif::Orientation;
use crate::fault::{check_pixels, DecodeFault};

const TEM: u8 = 0x01;
const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const APP1: u8 = 0xE1;
const APP14: u8 = 0xEE;

/// What the segments say.
#[derive(Default)]
pub(super) struct Markers {
    /// An Adobe segment: its four-channel images are stored inverted.
    pub adobe: bool,
    /// Of the first EXIF segment.
    exif: Option<Orientation>,
    /// Height, width and components of the frame.
    frame: Option<(usize, usize, usize)>,
    /// Where the first scan starts.
    scan: Option<usize>,
}

impl Markers {
    /// Read the segments up to the first scan, or as far as they go.
    pub fn walk(data: &[u8]) -> Self {
        let mut found = Self::default();
        let mut at = 2;
        while let Some((marker, start)) = next_marker(data, at) {
            at = start;
            match marker {
                TEM | SOI | 0xD0..=0xD7 => continue,
                EOI => break,
                SOS => {
                    found.scan = Some(at);
                    break;
                }
                _ => {}
            }
            let Some(length) = data.get(at..at + 2).map(|two| usize::from(u16::from_be_bytes([two[0], two[1]]))) else {
                break;
            };
            let body = data.get(at + 2..at + length).unwrap_or_default();
            match marker {
                // Start of frame, of any coding; C4, C8 and CC are other things.
                0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) && found.frame.is_none() => {
                    if let Some(&[_, h1, h0, w1, w0, components]) = body.first_chunk() {
                        let side = |high, low| usize::from(u16::from_be_bytes([high, low]));
                        found.frame = Some((side(h1, h0), side(w1, w0), usize::from(components)));
                    }
                }
                APP1 if found.exif.is_none() => {
                    found.exif = body.strip_prefix(b"Exif\0\0").map(Orientation::from_tiff);
                }
                APP14 => found.adobe |= body.starts_with(b"Adobe"),
                _ => {}
            }
            at += length.max(2);
        }
        found
    }

    pub fn has_frame(&self) -> bool {
        self.frame.is_some()
    }

    pub fn orientation(&self) -> Orientation {
        self.exif.unwrap_or_default()
    }

    /// Whether any byte of a scan is there.
    pub fn has_pixels(&self, data: &[u8]) -> bool {
        let length = |at: usize| Some(usize::from(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?])));
        self.scan.is_some_and(|at| length(at).is_some_and(|length| at + length < data.len()))
    }

    /// `data` without a last segment that is cut short, as between the scans of a progressive file.
    pub fn without_cut_segment<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        let mut at = self.scan.unwrap_or(data.len());
        while let Some((marker, start)) = next_marker(data, at) {
            at = start;
            if matches!(marker, TEM | SOI | EOI | 0xD0..=0xD7) {
                continue;
            }
            let length = data.get(at..at + 2).map(|two| usize::from(u16::from_be_bytes([two[0], two[1]])));
            match length {
                Some(length) if at + length <= data.len() => at += length.max(2),
                _ => return &data[..start - 2],
            }
        }
        data
    }

    /// Whether an end-of-image marker follows the start of the first scan; found at once where it ends the file.
    pub fn ends(&self, data: &[u8]) -> bool {
        let scan = self.scan.map_or(&[][..], |start| &data[start..]);
        scan.windows(2).rev().any(|pair| pair == [0xFF, EOI])
    }
}

/// The next marker at or after `at` and where its segment starts; bytes between segments are passed over.
fn next_marker(data: &[u8], mut at: usize) -> Option<(u8, usize)> {
    loop {
        at += data.get(at..)?.iter().position(|&byte| byte == 0xFF)?;
        at += data[at..].iter().position(|&byte| byte != 0xFF)?;
        if data[at] != 0 {
            return Some((data[at], at + 1));
        }
    }
}

/// Height, width and channels (1 or 3) of a JPEG, from its header alone; upright if `is_oriented`.
pub fn shape(data: &[u8], is_oriented: bool) -> Result<[usize; 3], DecodeFault> {
    if !data.starts_with(b"\xff\xd8") {
        return Err(DecodeFault::not_a("JPEG", data));
    }
    let markers = Markers::walk(data);
    let (height, width, components) =
        markers.frame.ok_or_else(|| DecodeFault::new(format!("truncated: no image header in {} bytes", data.len())))?;
    check_pixels(width, height, usize::MAX)?;
    let (height, width) = if is_oriented { markers.orientation().upright(height, width) } else { (height, width) };
    Ok([height, width, if components == 1 { 1 } else { 3 }])
}
