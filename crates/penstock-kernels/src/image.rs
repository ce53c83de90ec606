//! Images in memory, and what rearranges or rescales their pixels without mixing them.
//!
//! Rearranging never looks inside a pixel: a pixel is so many bytes, of whatever dtype.

use crate::fault::DecodeFault;

/// Rows of pixels, top to bottom, channels innermost.
#[derive(Clone, Debug, PartialEq)]
pub struct Image<T> {
    pub data: Vec<T>,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

/// ITU-R BT.601 luma, rounded, in 16 bits of fraction.
pub fn luma([r, g, b]: [u8; 3]) -> u8 {
    ((19_595 * u32::from(r) + 38_470 * u32::from(g) + 7_471 * u32::from(b) + 32_768) >> 16) as u8
}

/// Reverse each row of `width` pixels of `pixel_bytes` bytes.
pub fn flip_left_right(src: &[u8], width: usize, pixel_bytes: usize) -> Vec<u8> {
    let mut out = vec![0; src.len()];
    let row_bytes = width * pixel_bytes;
    if row_bytes == 0 {
        return out;
    }
    for (from, to) in src.chunks_exact(row_bytes).zip(out.chunks_exact_mut(row_bytes)) {
        match pixel_bytes {
            1 => reverse::<1>(from, to),
            3 => reverse::<3>(from, to),
            4 => reverse::<4>(from, to),
            12 => reverse::<12>(from, to),
            _ => {
                let pixels = from.chunks_exact(pixel_bytes).rev();
                to.chunks_exact_mut(pixel_bytes).zip(pixels).for_each(|(t, f)| t.copy_from_slice(f));
            }
        }
    }
    out
}

fn reverse<const BYTES: usize>(from: &[u8], to: &mut [u8]) {
    let (from, _) = from.as_chunks::<BYTES>();
    let (to, _) = to.as_chunks_mut::<BYTES>();
    for (target, pixel) in to.iter_mut().zip(from.iter().rev()) {
        *target = *pixel;
    }
}

/// Where a crop lies; inside its image, as the caller has checked.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    pub top: usize,
    pub left: usize,
    pub height: usize,
    pub width: usize,
}

impl Region {
    /// A fault unless the region has pixels and lies inside an image of `height` x `width`.
    pub fn check_inside(&self, height: usize, width: usize) -> Result<(), DecodeFault> {
        let inside = |start: usize, size: usize, whole: usize| {
            size > 0 && start.checked_add(size).is_some_and(|end| end <= whole)
        };
        if inside(self.top, self.height, height) && inside(self.left, self.width, width) {
            return Ok(());
        }
        let Self { top, left, height: rows, width: columns } = self;
        Err(DecodeFault::new(format!(
            "the region {rows} x {columns} at ({top}, {left}) is not inside {height} x {width}"
        )))
    }
}

/// Copy a region out of an image whose rows are `row_bytes` long.
pub fn crop(src: &[u8], row_bytes: usize, pixel_bytes: usize, region: Region) -> Vec<u8> {
    let mut out = Vec::with_capacity(region.height * region.width * pixel_bytes);
    let first = region.left * pixel_bytes;
    for row in region.top..region.top + region.height {
        out.extend_from_slice(&src[row * row_bytes + first..][..region.width * pixel_bytes]);
    }
    out
}

/// `value * scale[channel] + offset[channel]`, channels innermost.
pub fn scale_channels<T: Copy + Into<f32>>(src: &[T], scale: &[f32], offset: &[f32]) -> Vec<f32> {
    /// Pixels done together, so that a step is whole vectors whatever the number of channels.
    const PIXELS: usize = 16;
    let step = scale.len() * PIXELS;
    let (scales, offsets) = (scale.repeat(PIXELS), offset.repeat(PIXELS));
    let mut out = vec![0.0; src.len()];
    for (from, to) in src.chunks(step).zip(out.chunks_mut(step)) {
        for (((target, &value), &scale), &offset) in to.iter_mut().zip(from).zip(&scales).zip(&offsets) {
            *target = value.into() * scale + offset;
        }
    }
    out
}

/// `(value - mean[channel]) / std[channel]`, channels innermost: the division is kept, for the last bit.
pub fn standardize(src: &[f32], mean: &[f32], std: &[f32]) -> Vec<f32> {
    let channels = mean.len();
    let mut out = vec![0.0; src.len()];
    for (from, to) in src.chunks_exact(channels).zip(out.chunks_exact_mut(channels)) {
        for (((target, &value), &mean), &std) in to.iter_mut().zip(from).zip(mean).zip(std) {
            *target = (value - mean) / std;
        }
    }
    out
}

/// Each byte through a table of 256.
pub fn map_bytes(src: &[u8], table: &[u8; 256]) -> Vec<u8> {
    src.iter().map(|&value| table[usize::from(value)]).collect()
}

/// [0, 1] to [0, 255] as tf.image.convert_image_dtype: times 255.5, cut; out of range, clamped or wrapped.
pub fn floats_to_bytes(src: &[f32], saturate: bool) -> Vec<u8> {
    if saturate {
        src.iter().map(|&value| (value * 255.5) as u8).collect()
    } else {
        src.iter().map(|&value| (value * 255.5) as i32 as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flip_reverses_pixels_of_any_size() {
        for bytes in [1, 2, 3, 4, 5, 12] {
            let src: Vec<u8> = (0..(2 * 7 * bytes) as u8).collect();
            let flipped = flip_left_right(&src, 7, bytes);
            assert_eq!(flipped[..bytes], src[6 * bytes..7 * bytes]);
            assert_eq!(flip_left_right(&flipped, 7, bytes), src);
        }
        assert!(flip_left_right(&[], 0, 3).is_empty());
    }

    #[test]
    fn crop_takes_the_region() {
        let src: Vec<u8> = (0..20).collect();
        let region = Region { top: 1, left: 2, height: 2, width: 2 };
        assert_eq!(crop(&src, 5, 1, region), [7, 8, 12, 13]);
    }

    #[test]
    fn bytes_round_trip_through_floats() {
        let all: Vec<u8> = (0..=255).collect();
        let floats = scale_channels(&all, &[1.0 / 255.0], &[0.0]);
        assert_eq!(floats_to_bytes(&floats, false), all);
        assert_eq!(floats_to_bytes(&[-1.0, 2.0, f32::NAN], true), [0, 255, 0]);
    }
}
