//! The marker segments of a JPEG up to its first scan: size, number of components, and what the library keeps to itself.

use crate::fault::{check_pixels, DecodeFault};

const TEM: u8 = 0x01;
const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const APP14: u8 = 0xEE;

/// What the segments say.
#[derive(Default)]
pub(super) struct Markers {
    /// An Adobe segment: its four-channel images are stored inverted.
    pub adobe: bool,
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

/// Height, width and channels (1 or 3) of a JPEG, from its header alone.
pub fn shape(data: &[u8]) -> Result<[usize; 3], DecodeFault> {
    if !data.starts_with(b"\xff\xd8") {
        return Err(DecodeFault::not_a("JPEG", data));
    }
    let (height, width, components) = Markers::walk(data)
        .frame
        .ok_or_else(|| DecodeFault::new(format!("truncated: no image header in {} bytes", data.len())))?;
    check_pixels(width, height, usize::MAX)?;
    Ok([height, width, if components == 1 { 1 } else { 3 }])
}
