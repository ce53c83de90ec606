//! Which source pixels make an output pixel, along one axis.

/// `taps` weights for each output pixel, from its start on; zero where there are fewer.
#[derive(Default)]
pub struct Axis {
    pub starts: Vec<usize>,
    pub weights: Vec<f32>,
    pub taps: usize,
}

impl Axis {
    /// Make this the axis from `from` pixels to `to`; memory is used again.
    pub fn set(&mut self, from: usize, to: usize, antialias: bool) {
        self.starts.clear();
        self.weights.clear();
        if antialias {
            self.set_antialiased(from, to);
        } else {
            self.set_bilinear(from, to);
        }
    }

    /// Two taps around the centre.
    fn set_bilinear(&mut self, from: usize, to: usize) {
        let scale = from as f32 / to as f32;
        self.taps = from.min(2);
        for index in 0..to {
            let centre = ((index as f32 + 0.5) * scale - 0.5).clamp(0.0, (from - 1) as f32);
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

    /// A triangle as wide as the ratio when shrinking; weights cut at an edge are scaled up to sum to one.
    fn set_antialiased(&mut self, from: usize, to: usize) {
        let ratio = from as f32 / to as f32;
        let radius = ratio.max(1.0);
        let span = |index: usize| {
            let centre = (index as f32 + 0.5) * ratio;
            let first = (centre - radius - 0.5).ceil().max(0.0) as usize;
            let last = ((centre + radius - 0.5).floor() as usize).min(from - 1);
            (centre, first, last)
        };
        let widest = (0..to).map(span).map(|(_, first, last)| (last + 1).saturating_sub(first)).max();
        self.taps = widest.unwrap_or(1).min(from);
        self.weights.resize(to * self.taps, 0.0);
        for (index, slot) in self.weights.chunks_exact_mut(self.taps).enumerate() {
            let (centre, first, last) = span(index);
            let start = first.min(from - self.taps);
            let mut total = 0.0;
            for source in first..=last {
                let weight = (1.0 - ((source as f32 + 0.5 - centre) / radius).abs()).max(0.0);
                slot[source - start] = weight;
                total += weight;
            }
            slot.iter_mut().for_each(|weight| *weight /= total);
            self.starts.push(start);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one() {
        let mut axis = Axis::default();
        for (from, to) in [(1, 1), (1, 7), (7, 1), (2, 5), (500, 224), (224, 500), (3, 1000), (1000, 3)] {
            for antialias in [false, true] {
                axis.set(from, to, antialias);
                assert_eq!(axis.pixels().count(), to);
                for (start, weights) in axis.pixels() {
                    assert!(start + axis.taps <= from);
                    assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{from} to {to}");
                }
            }
        }
    }

    #[test]
    fn a_mirrored_axis_is_the_axis_backwards() {
        let (mut axis, mut mirrored) = (Axis::default(), Axis::default());
        axis.set(9, 4, true);
        mirrored.set(9, 4, true);
        mirrored.mirror();
        let mut backwards: Vec<_> = axis.pixels().collect();
        backwards.reverse();
        assert_eq!(mirrored.pixels().collect::<Vec<_>>(), backwards);
    }
}
