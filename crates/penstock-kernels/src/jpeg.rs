//! JPEG decoding, whole or a region: by a decoder of our own where it knows all that a file has, else by libjpeg-turbo
//! (docs/decisions/2026-11-21-jpeg-library.md, -baseline-jpeg.md), which says what is wrong with those that have errors.
//!
//! What libjpeg calls a warning is an error here (a premature end, a bad code), except those with which every pixel is
//! still what was stored; a file with one is decoded again, past it. The library keeps the text of the first warning
//! alone, so the end-of-image marker is then looked for as well.

#[cfg(target_arch = "x86_64")]
mod baseline;
#[cfg(not(target_arch = "x86_64"))]
#[path = "jpeg/no_baseline.rs"]
mod baseline;
mod decoder;
mod encoder;
mod markers;

pub use decoder::{with_decoder, Decoder, Reading, Request, Window};
pub use encoder::{encode, Encoding, Sampling};
pub use markers::shape;

use crate::fault::DecodeFault;
use crate::image::{crop, Image, Region};

/// Decode a whole JPEG.
pub fn decode(data: &[u8], reading: Reading) -> Result<Image<u8>, DecodeFault> {
    let mut pixels = Vec::new();
    let request = Request { reading, region: None, target: None };
    let window = with_decoder(|decoder| decoder.decode(data, request, &mut pixels))?;
    pixels.truncate(window.height * window.pitch);
    let image = Image { data: pixels, height: window.height, width: window.width, channels: window.channels };
    Ok(window.orientation.applied(image))
}

/// Decode a region: equal to the same part of the whole image. Errors of rows below it may go unseen.
pub fn decode_region(data: &[u8], region: Region, reading: Reading) -> Result<Image<u8>, DecodeFault> {
    let mut pixels = Vec::new();
    let request = Request { reading, region: Some(region), target: None };
    let window = with_decoder(|decoder| decoder.decode(data, request, &mut pixels))?;
    let Window { first, pitch, height, width, channels, .. } = window;
    let part = Region { top: 0, left: 0, height, width };
    let image = Image { data: crop(&pixels[first..], pitch, channels, part), height, width, channels };
    Ok(window.orientation.applied(image))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resize::Shape;

    fn reading(limit_pixels: usize) -> Reading {
        Reading { channels: 3, limit_pixels, allow_truncated: false, is_oriented: true, is_reference: false }
    }

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
            assert_eq!(shape(&file, true), Ok([height, width, 3]));
            let whole = decode(&file, reading(1 << 20)).unwrap();
            for top in [0, 1, 7, 15, 16, 17, 33, 60] {
                for left in [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 64, 92] {
                    for (rows, columns) in [(1, 1), (2, 3), (16, 16), (17, 31), (61, 93)] {
                        let (rows, columns) = (rows.min(height - top), columns.min(width - left));
                        let region = Region { top, left, height: rows, width: columns };
                        let ours = decode_region(&file, region, reading(1 << 20)).unwrap();
                        let expected = crop(&whole.data, width * 3, 3, region);
                        assert_eq!(ours.data, expected, "{sampling:?}, progressive {progressive}, {region:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_file_without_tables_is_not_decoded_with_those_of_the_file_before() {
        let encoding = Encoding { quality: 90, progressive: false, optimize: false, sampling: Sampling::HalfBoth };
        let file = encode(&picture(20, 20), Shape { height: 20, width: 20, channels: 3 }, encoding).unwrap();
        let mut bare = file.clone();
        while let Some(at) = bare.windows(2).position(|pair| pair == [0xFF, 0xDB]) {
            let length = usize::from(u16::from_be_bytes([bare[at + 2], bare[at + 3]]));
            bare.drain(at..at + 2 + length);
        }
        for _ in 0..3 {
            decode(&file, reading(400)).unwrap();
            assert!(decode(&bare, reading(400)).is_err());
        }
    }

    #[test]
    fn a_decoder_works_after_a_failure() {
        let encoding = Encoding { quality: 90, progressive: false, optimize: false, sampling: Sampling::HalfBoth };
        let file = encode(&picture(20, 20), Shape { height: 20, width: 20, channels: 3 }, encoding).unwrap();
        let expected = decode(&file, reading(400)).unwrap();
        for end in 0..file.len() {
            assert!(decode(&file[..end], reading(400)).is_err());
            assert_eq!(decode(&file, reading(400)).unwrap(), expected);
        }
    }
}
