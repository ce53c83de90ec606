//! Resizing with the numerics of tf.image.resize: half-pixel centres, weights in float32.
//!
//! Bilinear is separable: a row is resized sideways once, when the first output row needs it, and kept in a ring until
//! the last one has used it; then rows are mixed. No row that no output row needs is touched.
//!
//! Source: TensorFlow core/kernels/image/{resize_bilinear_op,scale_and_translate_op}.cc.

/// The source pixels of each output pixel along one axis: `taps` weights from `start` on, zero where there are fewer.
struct Axis {
    starts: Vec<usize>,
    weights: Vec<f32>,
    taps: usize,
}

impl Axis {
    /// Two taps around the centre.
    fn bilinear(from: usize, to: usize) -> Self {
        let scale = from as f32 / to as f32;
        let taps = from.min(2);
        let (mut starts, mut weights) = (Vec::with_capacity(to), Vec::with_capacity(to * taps));
        for index in 0..to {
            let centre = ((index as f32 + 0.5) * scale - 0.5).clamp(0.0, (from - 1) as f32);
            let start = (centre as usize).min(from - taps);
            starts.push(start);
            if taps == 2 {
                let upper = centre - start as f32;
                weights.extend([1.0 - upper, upper]);
            } else {
                weights.push(1.0);
            }
        }
        Self { starts, weights, taps }
    }

    /// A triangle as wide as the ratio when shrinking; weights cut at an edge are scaled up to sum to one.
    fn antialiased(from: usize, to: usize) -> Self {
        let ratio = from as f32 / to as f32;
        let radius = ratio.max(1.0);
        let mut spans = Vec::with_capacity(to);
        for index in 0..to {
            let centre = (index as f32 + 0.5) * ratio;
            let first = (centre - radius - 0.5).ceil().max(0.0) as usize;
            let last = ((centre + radius - 0.5).floor() as usize).min(from - 1);
            let span: Vec<f32> =
                (first..=last).map(|source| (1.0 - ((source as f32 + 0.5 - centre) / radius).abs()).max(0.0)).collect();
            let total: f32 = span.iter().sum();
            spans.push((first, span.into_iter().map(|weight| weight / total).collect::<Vec<_>>()));
        }
        let taps = spans.iter().map(|(_, span)| span.len()).max().unwrap_or(1).min(from);
        let (mut starts, mut weights) = (Vec::with_capacity(to), vec![0.0; to * taps]);
        for (slot, (first, span)) in weights.chunks_exact_mut(taps).zip(spans) {
            let start = first.min(from - taps);
            slot[first - start..][..span.len()].copy_from_slice(&span);
            starts.push(start);
        }
        Self { starts, weights, taps }
    }

    fn new(from: usize, to: usize, antialias: bool) -> Self {
        if antialias {
            Self::antialiased(from, to)
        } else {
            Self::bilinear(from, to)
        }
    }
}

/// Height, width and channels of an image, none of them zero.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

/// Resize one image to `height` x `width`, bilinear.
pub fn bilinear<T: Copy + Into<f32>>(
    src: &[T],
    shape: Shape,
    height: usize,
    width: usize,
    antialias: bool,
) -> Vec<f32> {
    let across = Axis::new(shape.width, width, antialias);
    let down = Axis::new(shape.height, height, antialias);
    let (src_row, out_row) = (shape.width * shape.channels, width * shape.channels);
    let mut ring = vec![0.0; down.taps * out_row];
    let mut ready = 0; // source rows below this are, or were, in the ring
    let mut out = vec![0.0; height * out_row];
    for (y, target) in out.chunks_exact_mut(out_row).enumerate() {
        let start = down.starts[y];
        for row in ready.max(start)..start + down.taps {
            let slot = &mut ring[row % down.taps * out_row..][..out_row];
            resize_row(&src[row * src_row..][..src_row], &across, shape.channels, slot);
        }
        ready = ready.max(start + down.taps);
        for (tap, &weight) in down.weights[y * down.taps..][..down.taps].iter().enumerate() {
            let row = &ring[(start + tap) % down.taps * out_row..][..out_row];
            if tap == 0 {
                target.iter_mut().zip(row).for_each(|(t, &value)| *t = weight * value);
            } else if weight != 0.0 {
                target.iter_mut().zip(row).for_each(|(t, &value)| *t += weight * value);
            }
        }
    }
    out
}

fn resize_row<T: Copy + Into<f32>>(row: &[T], axis: &Axis, channels: usize, out: &mut [f32]) {
    match channels {
        1 => resize_row_fixed::<T, 1>(row, axis, out),
        3 => resize_row_fixed::<T, 3>(row, axis, out),
        4 => resize_row_fixed::<T, 4>(row, axis, out),
        _ => {
            for ((pixel, &start), weights) in
                out.chunks_exact_mut(channels).zip(&axis.starts).zip(axis.weights.chunks_exact(axis.taps))
            {
                pixel.fill(0.0);
                for (source, &weight) in row[start * channels..].chunks_exact(channels).zip(weights) {
                    pixel.iter_mut().zip(source).for_each(|(t, &value)| *t += weight * value.into());
                }
            }
        }
    }
}

fn resize_row_fixed<T: Copy + Into<f32>, const C: usize>(row: &[T], axis: &Axis, out: &mut [f32]) {
    let (source, _) = row.as_chunks::<C>();
    let (out, _) = out.as_chunks_mut::<C>();
    for ((pixel, &start), weights) in out.iter_mut().zip(&axis.starts).zip(axis.weights.chunks_exact(axis.taps)) {
        let mut sum = [0.0; C];
        for (values, &weight) in source[start..start + axis.taps].iter().zip(weights) {
            for channel in 0..C {
                sum[channel] += weight * values[channel].into();
            }
        }
        *pixel = sum;
    }
}

/// Resize one image to `height` x `width`, each pixel the nearest; `shape.channels` counts bytes.
pub fn nearest(src: &[u8], shape: Shape, height: usize, width: usize) -> Vec<u8> {
    let pick = |from: usize, to: usize| {
        let scale = from as f32 / to as f32;
        (0..to).map(|index| (((index as f32 + 0.5) * scale) as usize).min(from - 1)).collect::<Vec<_>>()
    };
    let (rows, columns) = (pick(shape.height, height), pick(shape.width, width));
    let row_bytes = shape.width * shape.channels;
    let mut out = Vec::with_capacity(height * width * shape.channels);
    for row in rows {
        let from = &src[row * row_bytes..][..row_bytes];
        for &column in &columns {
            out.extend_from_slice(&from[column * shape.channels..][..shape.channels]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one() {
        for (from, to) in [(1, 1), (1, 7), (7, 1), (2, 5), (500, 224), (224, 500), (3, 1000), (1000, 3)] {
            for antialias in [false, true] {
                let axis = Axis::new(from, to, antialias);
                for (start, weights) in axis.starts.iter().zip(axis.weights.chunks_exact(axis.taps)) {
                    assert!(start + axis.taps <= from);
                    assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{from} to {to}");
                }
            }
        }
    }

    #[test]
    fn a_constant_image_stays_constant() {
        for channels in [1, 2, 3, 4] {
            let shape = Shape { height: 9, width: 11, channels };
            let src = vec![200_u8; 9 * 11 * channels];
            for antialias in [false, true] {
                let out = bilinear(&src, shape, 5, 17, antialias);
                assert!(out.iter().all(|&value| (value - 200.0).abs() < 1e-3));
            }
            assert_eq!(nearest(&src, shape, 5, 17), vec![200; 5 * 17 * channels]);
        }
    }
}
