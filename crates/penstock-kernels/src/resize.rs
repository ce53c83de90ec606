//! Resizing with the numerics of tf.image.resize: half-pixel centres, weights in float32.
//!
//! All but nearest are separable: a row is resized sideways once, when the first output row needs it, and kept in a ring until
//! the last one has used it; then rows are mixed. No row that no output row needs is touched.
//!
//! Source: TensorFlow core/kernels/image/{resize_bilinear_op,scale_and_translate_op}.cc.

mod across;
mod axis;

pub use across::Sample;
use across::WideWeights;
use axis::Axis;
pub use axis::Filter;

/// Height, width and channels of an image, none of them zero.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

/// Rows of an image somewhere in a buffer: the first from `first` on, each `pitch` values after the last.
#[derive(Clone, Copy)]
pub struct View<'a, T> {
    pub data: &'a [T],
    pub first: usize,
    pub pitch: usize,
    pub shape: Shape,
}

impl<'a, T> View<'a, T> {
    /// From the start of a row to the end of the buffer.
    pub fn from_row(&self, row: usize) -> &'a [T] {
        &self.data[self.first + row * self.pitch..]
    }
}

/// A resize, row by row; its memory is used again by the next image.
#[derive(Default)]
pub struct Resizer {
    sideways: Axis,
    down: Axis,
    wide: WideWeights,
    /// The last `down.taps` source rows, resized sideways; `stride` apart.
    ring: Vec<f32>,
    stride: usize,
    /// Source rows below this are, or were, in the ring.
    ready: usize,
}

impl Resizer {
    /// Begin an image; `mirrored`: each row is given from right to left.
    pub fn begin(&mut self, from: Shape, height: usize, width: usize, filter: Filter, mirrored: bool) {
        let spans = [(0.0, from.height as f32), (0.0, from.width as f32)];
        self.begin_within(from, spans, (height, width), filter, mirrored);
    }

    /// As `begin`, for the part of the image that starts there and is so long, (down, across), in pixels and fractions.
    pub fn begin_within(
        &mut self,
        from: Shape,
        spans: [(f32, f32); 2],
        (height, width): (usize, usize),
        filter: Filter,
        mirrored: bool,
    ) {
        self.sideways.set_within(from.width, spans[1], width, filter);
        if mirrored {
            self.sideways.mirror();
        }
        self.down.set_within(from.height, spans[0], height, filter);
        if from.channels == 3 {
            self.wide.set(&self.sideways);
        }
        self.stride = width * from.channels + across::SLACK;
        self.ring.resize(self.down.taps * self.stride, 0.0);
        self.ready = 0;
    }

    /// Write row `y` of the result; rows are asked for in order.
    pub fn row<T: Sample>(&mut self, view: View<T>, y: usize, target: &mut [f32]) {
        let (start, taps) = (self.down.starts[y], self.down.taps);
        for row in self.ready.max(start)..start + taps {
            let slot = &mut self.ring[row % taps * self.stride..][..self.stride];
            across::across(view.from_row(row), view.shape.channels, &self.sideways, &self.wide, slot);
        }
        self.ready = self.ready.max(start + taps);
        let values = target.len();
        let row = |tap: usize| &self.ring[(start + tap) % taps * self.stride..][..values];
        match self.down.weights[y * taps..][..taps] {
            [first, second] => across::mix(target, row(0), first, row(1), second),
            ref weights => {
                across::scale(target, row(0), weights[0]);
                for (tap, &weight) in weights.iter().enumerate().skip(1).filter(|(_, &weight)| weight != 0.0) {
                    across::add(target, row(tap), weight);
                }
            }
        }
    }
}

/// Resize one image to `height` x `width`.
pub fn resize<T: Sample>(src: &[T], shape: Shape, height: usize, width: usize, filter: Filter) -> Vec<f32> {
    let view = View { data: src, first: 0, pitch: shape.width * shape.channels, shape };
    let mut resizer = Resizer::default();
    resizer.begin(shape, height, width, filter, false);
    let mut out = vec![0.0; height * width * shape.channels];
    for (y, target) in out.chunks_exact_mut(width * shape.channels).enumerate() {
        resizer.row(view, y, target);
    }
    out
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
    fn a_constant_image_stays_constant() {
        for channels in [1, 2, 3, 4] {
            let shape = Shape { height: 9, width: 11, channels };
            let src = vec![200_u8; 9 * 11 * channels];
            for filter in [Filter::Bilinear { antialias: false }, Filter::Lanczos3 { antialias: true }, Filter::Area] {
                let out = resize(&src, shape, 5, 17, filter);
                assert!(out.iter().all(|&value| (value - 200.0).abs() < 1e-3));
            }
            assert_eq!(nearest(&src, shape, 5, 17), vec![200; 5 * 17 * channels]);
        }
    }
}
