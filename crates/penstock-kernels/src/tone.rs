//! Values of a whole image: grey of RGB, and standardization.

use crate::simd::vectorized;

const RED: f32 = 0.2989;
const GREEN: f32 = 0.587;
const BLUE: f32 = 0.114;

/// The luma of RGB pixels. Source: tf.image.rgb_to_grayscale.
pub fn grey_floats(src: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; src.len() / 3];
    weigh_floats(src, &mut out);
    out
}

/// As `grey_floats` of bytes scaled to [0, 1], converted back as tf.image.convert_image_dtype does: times 255.5, cut.
pub fn grey_bytes(src: &[u8]) -> Vec<u8> {
    let mut out = vec![0; src.len() / 3];
    weigh_bytes(src, &mut out);
    out
}

#[inline(always)]
fn weigh([r, g, b]: [f32; 3]) -> f32 {
    r * RED + g * GREEN + b * BLUE
}

vectorized! {
    fn weigh_floats(src: &[f32], out: &mut [f32]) {
        for (target, &pixel) in out.iter_mut().zip(src.as_chunks::<3>().0) {
            *target = weigh(pixel);
        }
    }
}

vectorized! {
    fn weigh_bytes(src: &[u8], out: &mut [u8]) {
        for (target, pixel) in out.iter_mut().zip(src.as_chunks::<3>().0) {
            let grey = weigh(pixel.map(|value| f32::from(value) * (1.0 / 255.0)));
            *target = (grey * 255.5) as i32 as u8;
        }
    }
}

/// Each value less the mean of all, over their deviation, which is at least 1 / sqrt(values).
///
/// Sums are float64, of as many lanes as are added at once. Source: tf.image.per_image_standardization.
pub fn standardize_whole(src: &[f32]) -> Vec<f32> {
    let count = src.len().max(1) as f64;
    let mut mean = 0.0;
    add_up(src, &mut mean);
    mean /= count;
    let mut squares = 0.0;
    add_squares(src, mean, &mut squares);
    let deviation = ((squares / count).sqrt() as f32).max((1.0 / count.sqrt()) as f32);
    let mut out = vec![0.0; src.len()];
    divide(src, mean as f32, deviation, &mut out);
    out
}

const LANES: usize = 16;

vectorized! {
    fn add_up(src: &[f32], total: &mut f64) {
        let (lanes, rest) = src.as_chunks::<LANES>();
        let mut sums = [0.0_f64; LANES];
        for values in lanes {
            for (sum, &value) in sums.iter_mut().zip(values) {
                *sum += f64::from(value);
            }
        }
        *total = sums.iter().sum::<f64>() + rest.iter().map(|&value| f64::from(value)).sum::<f64>();
    }
}

vectorized! {
    fn add_squares(src: &[f32], mean: f64, total: &mut f64) {
        let (lanes, rest) = src.as_chunks::<LANES>();
        let mut sums = [0.0_f64; LANES];
        for values in lanes {
            for (sum, &value) in sums.iter_mut().zip(values) {
                let distance = f64::from(value) - mean;
                *sum += distance * distance;
            }
        }
        let rest = rest.iter().map(|&value| (f64::from(value) - mean) * (f64::from(value) - mean));
        *total = sums.iter().sum::<f64>() + rest.sum::<f64>();
    }
}

vectorized! {
    fn divide(src: &[f32], mean: f32, deviation: f32, out: &mut [f32]) {
        for (target, &value) in out.iter_mut().zip(src) {
            *target = (value - mean) / deviation;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_is_white_and_a_constant_has_no_deviation() {
        assert_eq!(grey_bytes(&[255; 9]), [255; 3]);
        assert_eq!(standardize_whole(&[7.0; 40]), [0.0; 40]);
        assert!(standardize_whole(&[]).is_empty());
    }
}
