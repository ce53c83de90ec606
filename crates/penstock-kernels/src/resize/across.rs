//! One source row, resized sideways. Sums run from the first tap to the last, in float32, whatever the instruction set.

use super::axis::Axis;
use crate::simd::vectorized;

/// Values that one loaded vector may touch beyond the last that is used; rows made here are as much longer.
pub(super) const SLACK: usize = 8;

/// What can be resized: bytes, by vectors where the CPU has them, and floats.
pub trait Sample: Copy + Into<f32> {
    /// Resize RGB pixels by vectors; false where that cannot be done. `source` starts at the row and goes on to the end
    /// of the buffer.
    fn across_rgb(_source: &[Self], _axis: &Axis, _wide: &WideWeights, _out: &mut [f32]) -> bool {
        false
    }
}

impl Sample for f32 {}

impl Sample for u8 {
    fn across_rgb(source: &[u8], axis: &Axis, wide: &WideWeights, out: &mut [f32]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if wide.reach <= source.len() && crate::simd::is_wide() {
            // SAFETY: the CPU has AVX2; every load of 16 bytes ends at or before `reach`, within the source.
            unsafe { avx2::across(source, axis, wide, out) };
            return true;
        }
        let _ = (source, axis, wide, out);
        false
    }
}

/// The weights of an axis laid out for vectors of two RGB pixels: each repeated four times, pixel after pixel, tap by tap.
#[derive(Default)]
pub struct WideWeights {
    values: Vec<f32>,
    /// Byte offsets of the first pixel of each output pixel; an even number of them.
    offsets: Vec<usize>,
    /// Bytes of a row that may be loaded.
    reach: usize,
    /// Taps, made even by a weight of zero.
    taps: usize,
}

impl WideWeights {
    pub(super) fn set(&mut self, axis: &Axis) {
        self.taps = axis.taps.next_multiple_of(2);
        self.offsets.clear();
        self.offsets.extend(axis.starts.iter().map(|start| start * 3));
        if self.offsets.len() % 2 == 1 {
            self.offsets.extend(self.offsets.last().copied());
        }
        let last_load = 3 * (self.taps - 2) + 16;
        self.reach = self.offsets.iter().max().map_or(0, |last| last + last_load);
        self.values.clear();
        self.values.resize(self.offsets.len() * self.taps * 4, 0.0);
        for (index, (_, weights)) in axis.pixels().enumerate() {
            let base = index / 2 * self.taps * 8 + index % 2 * 4;
            for (tap, &weight) in weights.iter().enumerate() {
                self.values[base + tap * 8..][..4].fill(weight);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{WideWeights, SLACK};
    use crate::resize::axis::Axis;

    /// Two output pixels at a time, one in each half of a vector: red, green, blue and one lane that is dropped.
    #[target_feature(enable = "avx2")]
    pub fn across(source: &[u8], axis: &Axis, wide: &WideWeights, out: &mut [f32]) {
        assert!(wide.reach <= source.len() && out.len() >= axis.starts.len() * 3 + SLACK);
        // Byte 0 to 2 of each half to a lane each, and 3 to 5: two neighbouring pixels.
        let first = _mm256_setr_epi8(
            0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1,
            -1, -1, -1, -1,
        );
        let second = _mm256_setr_epi8(
            3, -1, -1, -1, 4, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1, -1, 3, -1, -1, -1, 4, -1, -1, -1, 5, -1, -1, -1,
            -1, -1, -1, -1,
        );
        let dense = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 6, 6);
        let pairs = wide.offsets.chunks_exact(2).zip(wide.values.chunks_exact(wide.taps * 8)).enumerate();
        for (pair, (offsets, weights)) in pairs {
            let mut sum = _mm256_setzero_ps();
            for (step, weights) in weights.chunks_exact(16).enumerate() {
                // SAFETY: offset + 6 * step + 16 <= reach <= source.len(): `reach` is the largest of them.
                let bytes = unsafe {
                    let left = source.as_ptr().add(offsets[0] + 6 * step);
                    let right = source.as_ptr().add(offsets[1] + 6 * step);
                    _mm256_inserti128_si256::<1>(
                        _mm256_castsi128_si256(_mm_loadu_si128(left.cast())),
                        _mm_loadu_si128(right.cast()),
                    )
                };
                // SAFETY: `weights` has 16 values.
                let (w0, w1) = unsafe { (_mm256_loadu_ps(weights.as_ptr()), _mm256_loadu_ps(weights.as_ptr().add(8))) };
                let p0 = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, first));
                let p1 = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, second));
                sum = _mm256_add_ps(_mm256_add_ps(sum, _mm256_mul_ps(w0, p0)), _mm256_mul_ps(w1, p1));
            }
            // SAFETY: 6 * pair + 8 <= 3 * pixels + 2 + ... <= out.len(), as asserted with SLACK.
            unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(6 * pair), _mm256_permutevar8x32_ps(sum, dense)) };
        }
    }
}

/// Resize the row that `source` starts with into `out`, which has `SLACK` values more than the row.
pub(super) fn across<T: Sample>(source: &[T], channels: usize, axis: &Axis, wide: &WideWeights, out: &mut [f32]) {
    match channels {
        3 if T::across_rgb(source, axis, wide, out) => {}
        1 => fixed::<T, 1>(source, axis, out),
        3 => fixed::<T, 3>(source, axis, out),
        4 => fixed::<T, 4>(source, axis, out),
        _ => {
            for ((start, weights), pixel) in axis.pixels().zip(out.chunks_exact_mut(channels)) {
                pixel.fill(0.0);
                for (source, &weight) in source[start * channels..].chunks_exact(channels).zip(weights) {
                    pixel.iter_mut().zip(source).for_each(|(t, &value)| *t += weight * value.into());
                }
            }
        }
    }
}

fn fixed<T: Sample, const C: usize>(source: &[T], axis: &Axis, out: &mut [f32]) {
    let (source, _) = source.as_chunks::<C>();
    let (out, _) = out.as_chunks_mut::<C>();
    for ((start, weights), pixel) in axis.pixels().zip(out) {
        let mut sum = [0.0; C];
        for (values, &weight) in source[start..start + axis.taps].iter().zip(weights) {
            for channel in 0..C {
                sum[channel] += weight * values[channel].into();
            }
        }
        *pixel = sum;
    }
}

vectorized! {
    /// `target = a * wa + b * wb`.
    pub(super) fn mix(target: &mut [f32], a: &[f32], wa: f32, b: &[f32], wb: f32) {
        for ((t, &a), &b) in target.iter_mut().zip(a).zip(b) {
            *t = wa * a + wb * b;
        }
    }
}

vectorized! {
    /// `target = row * weight`.
    pub(super) fn scale(target: &mut [f32], row: &[f32], weight: f32) {
        for (t, &value) in target.iter_mut().zip(row) {
            *t = weight * value;
        }
    }
}

vectorized! {
    /// `target += row * weight`.
    pub(super) fn add(target: &mut [f32], row: &[f32], weight: f32) {
        for (t, &value) in target.iter_mut().zip(row) {
            *t += weight * value;
        }
    }
}
