//! Brightness, contrast, saturation and hue of a row, as tf.image adjusts them.
//!
//! Bytes are scaled to [0, 1], adjusted, and converted back as tf.image.convert_image_dtype does with saturate: times
//! 255.5, clamped, cut. Saturation is tf.image's way through HSV and back in closed form: hue and value stay, so each
//! channel keeps its share of the distance to the largest; equal to it within a few units of the last bit. So is hue, where
//! the shares turn.
//! Source: TensorFlow, python/ops/image_ops_impl.py, core/kernels/image/{adjust_contrast,adjust_saturation}_op.cc.

use super::rows::bounded;
use super::steps::Kind;
use crate::simd::vectorized;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Color {
    Brightness,
    /// Needs the means of the whole image.
    Contrast,
    Saturation,
    Hue,
}

const INVERSE_255: f32 = 1.0 / 255.0;

#[inline(always)]
fn to_byte(value: f32) -> f32 {
    bounded(value * 255.5) as i32 as f32
}

/// Adjust a row in place; `means` is a row of the image's channel means, read by contrast alone.
pub(super) fn adjust(row: &mut [f32], color: Color, kind: Kind, amount: f32, means: &[f32]) {
    match (color, kind) {
        (Color::Brightness, Kind::Bytes) => brighten_bytes(row, amount),
        (Color::Brightness, Kind::Floats) => brighten_floats(row, amount),
        (Color::Contrast, Kind::Bytes) => contrast_bytes(row, amount, means),
        (Color::Contrast, Kind::Floats) => contrast_floats(row, amount, means),
        (Color::Saturation, Kind::Bytes) => saturate_bytes(row, amount),
        (Color::Saturation, Kind::Floats) => saturate_floats(row, amount),
        (Color::Hue, Kind::Bytes) => turn_bytes(row, amount),
        (Color::Hue, Kind::Floats) => turn_floats(row, amount),
    }
}

vectorized! {
    fn brighten_bytes(row: &mut [f32], delta: f32) {
        row.iter_mut().for_each(|value| *value = to_byte(*value * INVERSE_255 + delta));
    }
}

vectorized! {
    fn brighten_floats(row: &mut [f32], delta: f32) {
        row.iter_mut().for_each(|value| *value += delta);
    }
}

vectorized! {
    fn contrast_bytes(row: &mut [f32], factor: f32, means: &[f32]) {
        for (value, &mean) in row.iter_mut().zip(means) {
            *value = to_byte((*value * INVERSE_255 - mean) * factor + mean);
        }
    }
}

vectorized! {
    fn contrast_floats(row: &mut [f32], factor: f32, means: &[f32]) {
        for (value, &mean) in row.iter_mut().zip(means) {
            *value = (*value - mean) * factor + mean;
        }
    }
}

vectorized! {
    fn saturate_bytes(row: &mut [f32], factor: f32) {
        for pixel in row.as_chunks_mut::<3>().0 {
            *pixel = saturate(pixel.map(|value| value * INVERSE_255), factor).map(to_byte);
        }
    }
}

vectorized! {
    fn saturate_floats(row: &mut [f32], factor: f32) {
        for pixel in row.as_chunks_mut::<3>().0 {
            *pixel = saturate(*pixel, factor);
        }
    }
}

#[inline(always)]
fn saturate(pixel: [f32; 3], factor: f32) -> [f32; 3] {
    let [r, g, b] = pixel;
    let largest = r.max(g).max(b);
    let saturation = if largest > 0.0 { (largest - r.min(g).min(b)) / largest } else { 0.0 };
    let wanted = (saturation * factor).clamp(0.0, 1.0);
    let ratio = if saturation > 0.0 { wanted / saturation } else { 0.0 };
    pixel.map(|value| largest - (largest - value) * ratio)
}

vectorized! {
    fn turn_bytes(row: &mut [f32], turns: f32) {
        for pixel in row.as_chunks_mut::<3>().0 {
            *pixel = turn(pixel.map(|value| value * INVERSE_255), turns).map(to_byte);
        }
    }
}

vectorized! {
    fn turn_floats(row: &mut [f32], turns: f32) {
        for pixel in row.as_chunks_mut::<3>().0 {
            *pixel = turn(*pixel, turns);
        }
    }
}

/// Hue in sixths of the circle, turned; a channel's distance from the largest depends on where it then stands.
#[inline(always)]
fn turn(pixel: [f32; 3], turns: f32) -> [f32; 3] {
    let [r, g, b] = pixel;
    let largest = r.max(g).max(b);
    let spread = largest - r.min(g).min(b);
    let from_green = if g == largest { (b - r) / spread + 2.0 } else { (r - g) / spread + 4.0 };
    let hue = if r == largest { (g - b) / spread } else { from_green };
    let turned = if spread > 0.0 { hue } else { 0.0 } + turns * 6.0;
    [5.0, 3.0, 1.0].map(|start| {
        let place = turned + start;
        let place = place - (place / 6.0).floor() * 6.0;
        largest - spread * place.min(4.0 - place).clamp(0.0, 1.0)
    })
}

/// The mean of each channel of an image, repeated to the length of a row; in units of [0, 1] for bytes.
///
/// Summed in float64, row after row: exact for bytes.
pub(super) fn channel_means(image: &[f32], channels: usize, kind: Kind, row: &mut Vec<f32>, row_len: usize) {
    let mut sums = vec![0.0_f64; channels];
    match channels {
        3 => sum_rgb(image, &mut sums),
        _ => image.chunks_exact(channels).for_each(|pixel| {
            sums.iter_mut().zip(pixel).for_each(|(sum, &value)| *sum += f64::from(value));
        }),
    }
    let scale = if kind == Kind::Bytes { 1.0 / 255.0 } else { 1.0 };
    let pixels = (image.len() / channels) as f64;
    row.clear();
    row.extend(sums.iter().map(|sum| (sum / pixels * scale) as f32).cycle().take(row_len));
}

vectorized! {
    fn sum_rgb(image: &[f32], sums: &mut [f64]) {
        let (pixels, _) = image.as_chunks::<3>();
        let (mut r, mut g, mut b) = (0.0, 0.0, 0.0);
        for pixel in pixels {
            r += f64::from(pixel[0]);
            g += f64::from(pixel[1]);
            b += f64::from(pixel[2]);
        }
        sums.copy_from_slice(&[r, g, b]);
    }
}
