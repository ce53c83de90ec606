//! JPEG decoding by libjpeg-turbo (docs/decisions/2026-11-21-jpeg-library.md), whole or a region.
//!
//! What libjpeg calls a warning is an error here (a premature end, a bad code), except those with which every pixel is
//! still what was stored; a file with one is decoded again, past it. The library keeps the text of the first warning
//! alone, so the end-of-image marker is then looked for as well.

mod decoder;
mod encoder;
mod markers;

pub use decoder::{with_decoder, Decoder, Request, Window};
pub use encoder::{encode, Encoding, Sampling};
pub use markers::shape;

use crate::fault::DecodeFault;
use crate::image::{crop, Image, Region};

/// Decode a whole JPEG into rows of `channels` bytes a pixel: 1, 3, or 0 for what is stored (grey 1, anything else 3).
pub fn decode(data: &[u8], channels: usize, limit_pixels: usize) -> Result<Image<u8>, DecodeFault> {
    let mut pixels = Vec::new();
    let request = Request { channels, region: None, limit_pixels };
    let window = with_decoder(|decoder| decoder.decode(data, request, &mut pixels))?;
    pixels.truncate(window.height * window.pitch);
    Ok(Image { data: pixels, height: window.height, width: window.width, channels: window.channels })
}

/// Decode a region: equal to the same part of the whole image. Errors of rows below it may go unseen.
pub fn decode_region(
    data: &[u8],
    channels: usize,
    region: Region,
    limit_pixels: usize,
) -> Result<Image<u8>, DecodeFault> {
    let mut pixels = Vec::new();
    let request = Request { channels, region: Some(region), limit_pixels };
    let window = with_decoder(|decoder| decoder.decode(data, request, &mut pixels))?;
    let Window { first, pitch, height, width, channels } = window;
    let part = Region { top: 0, left: 0, height, width };
    Ok(Image { data: crop(&pixels[first..], pitch, channels, part), height, width, channels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resize::Shape;

    fn picture(height: usize, width: usize) -> Vec<u8> {
        let value = |at: usize| (at * at / 7 + at * 31 + at / width * 5) as u8;
        (0..height * width * 3).map(value).collect()
    }

    #[test]
    fn a_region_equals_the_same_part_of_the_whole_for_every_sampling() {
        let samplings = [
            Sampling::Full,
            Sampling::HalfWidth,
            Sampling::HalfBoth,
            Sampling::HalfHeight,
            Sampling::QuarterWidth,
            Sampling::QuarterHeight,
        ];
        let (height, width) = (61, 93);
        for (sampling, progressive) in samplings.into_iter().flat_map(|s| [(s, false), (s, true)]) {
            let encoding = Encoding { quality: 90, progressive, optimize: false, sampling };
            let file = encode(&picture(height, width), Shape { height, width, channels: 3 }, encoding).unwrap();
            assert_eq!(shape(&file), Ok([height, width, 3]));
            let whole = decode(&file, 3, 1 << 20).unwrap();
            for top in [0, 1, 7, 15, 16, 17, 33, 60] {
                for left in [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 64, 92] {
                    for (rows, columns) in [(1, 1), (2, 3), (16, 16), (17, 31), (61, 93)] {
                        let (rows, columns) = (rows.min(height - top), columns.min(width - left));
                        let region = Region { top, left, height: rows, width: columns };
                        let ours = decode_region(&file, 3, region, 1 << 20).unwrap();
                        let expected = crop(&whole.data, width * 3, 3, region);
                        assert_eq!(ours.data, expected, "{sampling:?}, progressive {progressive}, {region:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_decoder_works_after_a_failure() {
        let encoding = Encoding { quality: 90, progressive: false, optimize: false, sampling: Sampling::HalfBoth };
        let file = encode(&picture(20, 20), Shape { height: 20, width: 20, channels: 3 }, encoding).unwrap();
        let expected = decode(&file, 3, 400).unwrap();
        for end in 0..file.len() {
            assert!(decode(&file[..end], 3, 400).is_err());
            assert_eq!(decode(&file, 3, 400).unwrap(), expected);
        }
    }
}
