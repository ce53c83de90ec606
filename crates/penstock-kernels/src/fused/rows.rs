//! What happens to one row: read, reckoned with, written. Every operation is one pass over float32 in the first cache.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::color::adjust;
use super::steps::Op;
use crate::simd::vectorized;

/// Apply an operation to a row of image number `image`; `means` is what `color::adjust` takes.
pub(super) fn apply(op: &Op, image: usize, means: &[f32], row: &mut [f32]) {
    match op {
        Op::Round => round(row),
        Op::RoundAffine(scale, offset) => round_affine(row, scale, offset),
        Op::Cut => cut(row),
        Op::ToFloats => scale(row, 1.0 / 255.0),
        Op::ToBytes { saturate: true } => to_bytes(row),
        Op::ToBytes { saturate: false } => to_bytes_wrapped(row),
        Op::Affine(scale, offset) => affine(row, scale, offset),
        Op::Multiply(values) => multiply(row, values),
        Op::Add(values) => add(row, values),
        Op::Subtract(values) => subtract(row, values),
        Op::Divide(values) => divide(row, values),
        Op::Color { color, kind, amounts } => adjust(row, *color, *kind, amounts[image], means),
    }
}

/// Within 0 to 255, NaN as 0; written so that it is two instructions.
#[inline(always)]
pub(super) fn bounded(value: f32) -> f32 {
    let value = if value > 0.0 { value } else { 0.0 };
    if value < 255.0 {
        value
    } else {
        255.0
    }
}

/// 1.5 * 2^23: added and taken away again, it leaves a float32 below 2^22 rounded to a whole number, halves to even.
const ROUNDER: f32 = 12_582_912.0;

vectorized! {
    fn round(row: &mut [f32]) {
        row.iter_mut().for_each(|value| *value = (bounded(*value) + ROUNDER) - ROUNDER);
    }
}

vectorized! {
    fn round_affine(row: &mut [f32], scale: &[f32], offset: &[f32]) {
        for ((value, &scale), &offset) in row.iter_mut().zip(scale).zip(offset) {
            *value = ((bounded(*value) + ROUNDER) - ROUNDER) * scale + offset;
        }
    }
}

vectorized! {
    fn cut(row: &mut [f32]) {
        row.iter_mut().for_each(|value| *value = (*value as i32 & 0xFF) as f32);
    }
}

vectorized! {
    fn to_bytes(row: &mut [f32]) {
        row.iter_mut().for_each(|value| *value = bounded(*value * 255.5) as i32 as f32);
    }
}

vectorized! {
    fn to_bytes_wrapped(row: &mut [f32]) {
        row.iter_mut().for_each(|value| *value = ((*value * 255.5) as i32 & 0xFF) as f32);
    }
}

vectorized! {
    fn scale(row: &mut [f32], factor: f32) {
        row.iter_mut().for_each(|value| *value *= factor);
    }
}

vectorized! {
    fn affine(row: &mut [f32], scale: &[f32], offset: &[f32]) {
        for ((value, &scale), &offset) in row.iter_mut().zip(scale).zip(offset) {
            *value = *value * scale + offset;
        }
    }
}

vectorized! {
    fn multiply(row: &mut [f32], values: &[f32]) {
        row.iter_mut().zip(values).for_each(|(value, &other)| *value *= other);
    }
}

vectorized! {
    fn add(row: &mut [f32], values: &[f32]) {
        row.iter_mut().zip(values).for_each(|(value, &other)| *value += other);
    }
}

vectorized! {
    fn subtract(row: &mut [f32], values: &[f32]) {
        row.iter_mut().zip(values).for_each(|(value, &other)| *value -= other);
    }
}

vectorized! {
    fn divide(row: &mut [f32], values: &[f32]) {
        row.iter_mut().zip(values).for_each(|(value, &other)| *value /= other);
    }
}

/// Read a row that is not resized, from right to left if `mirrored`.
pub(super) fn load<T: Copy + Into<f32>>(source: &[T], channels: usize, mirrored: bool, row: &mut [f32]) {
    if mirrored {
        let pixels = source[..row.len()].rchunks_exact(channels);
        for (target, pixel) in row.chunks_exact_mut(channels).zip(pixels) {
            target.iter_mut().zip(pixel).for_each(|(t, &value)| *t = value.into());
        }
    } else {
        row.iter_mut().zip(source).for_each(|(t, &value)| *t = value.into());
    }
}

/// Channels apart: plane after plane, each `row.len() / channels` long.
pub(super) fn split(row: &[f32], channels: usize, planes: &mut [f32]) {
    let width = row.len() / channels;
    match channels {
        3 => split_rgb(row, planes),
        _ => {
            for (channel, plane) in planes.chunks_exact_mut(width).enumerate() {
                row[channel..].iter().step_by(channels).zip(plane).for_each(|(&value, t)| *t = value);
            }
        }
    }
}

vectorized! {
    fn split_rgb(row: &[f32], planes: &mut [f32]) {
        let (pixels, _) = row.as_chunks::<3>();
        let (red, rest) = planes.split_at_mut(pixels.len());
        let (green, blue) = rest.split_at_mut(pixels.len());
        for (((pixel, red), green), blue) in pixels.iter().zip(red).zip(green).zip(blue) {
            *red = pixel[0];
            *green = pixel[1];
            *blue = pixel[2];
        }
    }
}

/// An output dtype: how float32 values become it. Floats are rounded to the nearest, halves to even.
pub trait Store: Copy + Default {
    fn store(row: &[f32], out: &mut [Self]);

    /// As `store`, past the caches where the CPU can: for what is too large to stay in them. `finish_streams` follows.
    fn stream(row: &[f32], out: &mut [Self]) {
        Self::store(row, out);
    }
}

/// Make what was streamed visible to other threads before anything that is written later.
pub(super) fn finish_streams() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is in every x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

impl Store for f32 {
    fn store(row: &[f32], out: &mut [Self]) {
        out.copy_from_slice(row);
    }

    #[cfg(target_arch = "x86_64")]
    fn stream(row: &[f32], out: &mut [Self]) {
        use std::arch::x86_64::{_mm_loadu_ps, _mm_stream_ps};
        let start = out.as_ptr().align_offset(16).min(out.len());
        let (row_start, row) = row.split_at(start);
        let (out_start, out) = out.split_at_mut(start);
        out_start.copy_from_slice(row_start);
        let ((row, row_end), (out, out_end)) = (row.as_chunks::<4>(), out.as_chunks_mut::<4>());
        for (to, from) in out.iter_mut().zip(row) {
            // SAFETY: both are four floats, `to` at a multiple of 16 bytes; SSE is in every x86-64.
            unsafe { _mm_stream_ps(to.as_mut_ptr(), _mm_loadu_ps(from.as_ptr())) };
        }
        out_end.copy_from_slice(row_end);
    }
}

impl Store for u8 {
    fn store(row: &[f32], out: &mut [Self]) {
        store_bytes(row, out);
    }
}

vectorized! {
    /// Whole numbers from 0 to 255, as bytes: the low bits of the sum with 2^23.
    fn store_bytes(row: &[f32], out: &mut [u8]) {
        row.iter().zip(out).for_each(|(&value, byte)| *byte = (value + 8_388_608.0).to_bits() as u8);
    }
}

impl Store for f16 {
    fn store(row: &[f32], out: &mut [Self]) {
        out.convert_from_f32_slice(row);
    }
}

impl Store for bf16 {
    fn store(row: &[f32], out: &mut [Self]) {
        store_bf16(row, out);
    }
}

vectorized! {
    fn store_bf16(row: &[f32], out: &mut [bf16]) {
        row.iter().zip(out).for_each(|(&value, short)| *short = bf16::from_f32(value));
    }
}
