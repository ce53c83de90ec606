//! Which source pixels make an output pixel, along one axis.

use std::f32::consts::PI;

/// How source pixels are weighed, as tf.image.resize weighs them by method. `antialias` widens the filter when shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    Bilinear {
        antialias: bool,
    },
    /// Keys' cubic with a = -0.5.
    Bicubic {
        antialias: bool,
    },
    Lanczos3 {
        antialias: bool,
    },
    /// Each source pixel by the part of it that an output pixel covers.
    Area,
}

/// `taps` weights for each output pixel, from its start on; zero where there are fewer.
#[derive(Default)]
pub struct Axis {
    pub starts: Vec<usize>,
    pub weights: Vec<f32>,
    pub taps: usize,
}

impl Axis {
    /// Make this the axis from `from` pixels to `to`; memory is used again.
    pub fn set(&mut self, from: usize, to: usize, filter: Filter) {
        self.set_within(from, (0.0, from as f32), to, filter);
    }

    /// As `set`, from the part of the pixels that starts at `first` and is `length` long.
    pub fn set_within(&mut self, from: usize, (first, length): (f32, f32), to: usize, filter: Filter) {
        self.starts.clear();
        self.weights.clear();
        let ratio = length / to as f32;
        let centre = |index: usize| (index as f32 + 0.5) * ratio + first;
        let width = |antialias: bool| if antialias { ratio.max(1.0) } else { 1.0 };
        match filter {
            Filter::Bilinear { antialias: false } => self.set_bilinear(from, to, centre),
            Filter::Bilinear { antialias: true } => {
                self.set_spans(from, to, 1.0, width(true), centre, |x| (1.0 - x).max(0.0));
            }
            Filter::Bicubic { antialias: true } => self.set_spans(from, to, 2.0, width(true), centre, keys),
            Filter::Bicubic { antialias: false } => {
                // TensorFlow takes these weights from a table of 1024 places between two pixels.
                let snapped = |index: usize| {
                    let place = centre(index) - 0.5;
                    place.floor() + ((place - place.floor()) * 1024.0).round_ties_even() / 1024.0 + 0.5
                };
                self.set_spans(from, to, 2.0, 1.0, snapped, keys);
            }
            Filter::Lanczos3 { antialias } => self.set_spans(from, to, 3.0, width(antialias), centre, lanczos3),
            Filter::Area => self.set_area(from, (first, ratio), to),
        }
    }

    /// Two taps around the centre.
    fn set_bilinear(&mut self, from: usize, to: usize, centre: impl Fn(usize) -> f32) {
        self.taps = from.min(2);
        for index in 0..to {
            let centre = (centre(index) - 0.5).clamp(0.0, (from - 1) as f32);
            let start = (centre as usize).min(from - self.taps);
            self.starts.push(start);
            if self.taps == 2 {
                let upper = centre - start as f32;
                self.weights.extend([1.0 - upper, upper]);
            } else {
                self.weights.push(1.0);
            }
        }
    }

    /// A `kernel` of that radius, `wide` times as wide; weights cut at an edge are scaled up to sum to one.
    fn set_spans(
        &mut self,
        from: usize,
        to: usize,
        radius: f32,
        wide: f32,
        centre: impl Fn(usize) -> f32,
        kernel: impl Fn(f32) -> f32,
    ) {
        let span = |index: usize| {
            let centre = centre(index);
            let first = (centre - radius * wide - 0.5).ceil().max(0.0) as usize;
            let last = ((centre + radius * wide - 0.5).floor() as usize).min(from - 1);
            (centre, first.min(last), last)
        };
        self.taps = (0..to).map(|index| span(index).2 - span(index).1 + 1).max().unwrap_or(1);
        self.weights.resize(to * self.taps, 0.0);
        for (index, slot) in self.weights.chunks_exact_mut(self.taps).enumerate() {
            let (centre, first, last) = span(index);
            let start = first.min(from - self.taps);
            let mut total = 0.0;
            for source in first..=last {
                let weight = kernel(((source as f32 + 0.5 - centre) / wide).abs());
                slot[source - start] = weight;
                total += weight;
            }
            slot.iter_mut().for_each(|weight| *weight /= total);
            self.starts.push(start);
        }
    }

    fn set_area(&mut self, from: usize, (first, ratio): (f32, f32), to: usize) {
        let span = |index: usize| {
            let (start, end) = (index as f32 * ratio + first, (index + 1) as f32 * ratio + first);
            let first = (start as usize).min(from - 1);
            (start, end, first, (end.ceil() as usize).clamp(first + 1, from))
        };
        self.taps = (0..to).map(|index| span(index).3 - span(index).2).max().unwrap_or(1);
        self.weights.resize(to * self.taps, 0.0);
        for (index, slot) in self.weights.chunks_exact_mut(self.taps).enumerate() {
            let (start, end, first, last) = span(index);
            let offset = first.min(from - self.taps);
            let covered = |source: usize| (end.min((source + 1) as f32) - start.max(source as f32)).max(0.0);
            let total: f32 = (first..last).map(covered).sum();
            (first..last).for_each(|source| slot[source - offset] = covered(source) / total);
            self.starts.push(offset);
        }
    }

    /// Give the output pixels in reverse order.
    pub fn mirror(&mut self) {
        self.starts.reverse();
        self.weights.reverse();
        self.weights.chunks_exact_mut(self.taps).for_each(<[f32]>::reverse);
    }

    /// The start and weights of each output pixel.
    pub fn pixels(&self) -> impl Iterator<Item = (usize, &[f32])> {
        self.starts.iter().copied().zip(self.weights.chunks_exact(self.taps))
    }
}

/// Keys, "Cubic convolution interpolation for digital image processing", 1981; a = -0.5.
fn keys(x: f32) -> f32 {
    if x >= 2.0 {
        0.0
    } else if x >= 1.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        ((1.5 * x - 2.5) * x) * x + 1.0
    }
}

fn lanczos3(x: f32) -> f32 {
    if x >= 3.0 {
        0.0
    } else if x <= 1e-3 {
        1.0
    } else {
        3.0 * (PI * x).sin() * (PI * x / 3.0).sin() / (PI * PI * x * x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Filter; 7] = [
        Filter::Bilinear { antialias: false },
        Filter::Bilinear { antialias: true },
        Filter::Bicubic { antialias: false },
        Filter::Bicubic { antialias: true },
        Filter::Lanczos3 { antialias: false },
        Filter::Lanczos3 { antialias: true },
        Filter::Area,
    ];

    #[test]
    fn weights_sum_to_one() {
        let mut axis = Axis::default();
        for (from, to) in [(1, 1), (1, 7), (7, 1), (2, 5), (500, 224), (224, 500), (3, 1000), (1000, 3)] {
            for filter in ALL {
                axis.set(from, to, filter);
                assert_eq!(axis.pixels().count(), to);
                for (start, weights) in axis.pixels() {
                    assert!(start + axis.taps <= from);
                    assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{filter:?} {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn a_mirrored_axis_is_the_axis_backwards() {
        let (mut axis, mut mirrored) = (Axis::default(), Axis::default());
        axis.set(9, 4, ALL[1]);
        mirrored.set(9, 4, ALL[1]);
        mirrored.mirror();
        let mut backwards: Vec<_> = axis.pixels().collect();
        backwards.reverse();
        assert_eq!(mirrored.pixels().collect::<Vec<_>>(), backwards);
    }
}
