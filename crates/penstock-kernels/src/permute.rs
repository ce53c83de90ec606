//! A keyed permutation of `[0, n)`, evaluated at positions: nothing of size `n` is stored.
//!
//! Up to `TABLE_MAX` rows, a Fisher-Yates shuffle drawn from Philox without bias: every permutation is equally likely.
//! Above, a Feistel network on the `k` bits that hold `n - 1`, walked along its cycle until it falls inside `[0, n)`
//! (fewer than two evaluations on average). Halves are `k / 2` and `k - k / 2` bits wide and are changed in turn. The
//! round function is xor with a key, multiply, xor-shift, multiply, top bits; the keys are Philox words, one a round.
//!
//! Source: Luby and Rackoff 1988 (the network); Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002
//! (cycle walking); Wellons, "Prospecting for hash functions", 2018 (the constants of lowbias32). `ROUNDS` = 8:
//! the tests below (pairs, displacement, neighbours, keys; 257 to 2^20 rows) fail at 2 and pass from 4 on; the rest is
//! margin. It is a shuffle, not a cipher.

use crate::philox::Stream;

/// The largest `n` that is shuffled by a table.
pub const TABLE_MAX: u64 = 256;
const ROUNDS: usize = 8;
/// Positions evaluated together, so that the multiplications of many overlap and stragglers are walked on as a group.
const BATCH: usize = 256;
/// Values in one step of the network: two AVX2 registers of each half.
const LANES: usize = 16;
/// The streams of this module: no node or op number reaches it.
const TABLE_OP: u32 = 0xFFFF_FFF0;
const FEISTEL_OP: u32 = 0xFFFF_FFF1;

/// A position outside `[0, n)`, with the place where it stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    pub at: usize,
    pub position: i64,
}

/// The permutation of `[0, n)` under one key.
pub enum Permutation {
    Table(Vec<i64>),
    Feistel(Feistel),
}

impl Permutation {
    pub fn new(key: u64, n: u64) -> Self {
        if n <= TABLE_MAX {
            Self::Table(fisher_yates(key, n as usize))
        } else {
            Self::Feistel(Feistel::new(key, n))
        }
    }

    /// Replace each position in `values` by its image. On an error `values` is unchanged.
    pub fn apply(&self, values: &mut [i64]) -> Result<(), OutOfRange> {
        let n = match self {
            Self::Table(table) => table.len() as u64,
            Self::Feistel(network) => network.n,
        };
        let largest = values.iter().fold(0, |most, &v| most.max(v as u64));
        if largest >= n {
            if let Some(at) = values.iter().position(|&v| v as u64 >= n) {
                return Err(OutOfRange { at, position: values[at] });
            }
        }
        match self {
            Self::Table(table) => values.iter_mut().for_each(|v| *v = table[*v as usize]),
            Self::Feistel(network) => network.apply(values),
        }
        Ok(())
    }
}

/// Durstenfeld's shuffle; an index below `bound` is the top half of `word * bound`, drawn again where that would be
/// biased (Lemire, "Fast random integer generation in an interval", 2019).
fn fisher_yates(key: u64, n: usize) -> Vec<i64> {
    let mut table: Vec<i64> = (0..n as i64).collect();
    let mut words = Words::new(Stream { key, id: n as u64, op: TABLE_OP });
    for last in (1..n).rev() {
        let bound = last as u32 + 1;
        let threshold = bound.wrapping_neg() % bound;
        let chosen = loop {
            let product = u64::from(words.next()) * u64::from(bound);
            if product as u32 >= threshold {
                break (product >> 32) as usize;
            }
        };
        table.swap(last, chosen);
    }
    table
}

/// Words of a stream one after another, drawn sixteen at a time.
struct Words {
    stream: Stream,
    position: u64,
    held: [u32; 16],
}

impl Words {
    fn new(stream: Stream) -> Self {
        Self { stream, position: 0, held: [0; 16] }
    }

    fn next(&mut self) -> u32 {
        let slot = (self.position % 16) as usize;
        if slot == 0 {
            self.stream.fill(self.position, &mut self.held);
        }
        self.position += 1;
        self.held[slot]
    }
}

/// A network over `low_bits + high_bits` bits; each half fits 32 bits, so that a vector takes eight or more.
pub struct Feistel {
    n: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u32; ROUNDS],
}

impl Feistel {
    fn new(key: u64, n: u64) -> Self {
        let bits = 64 - (n - 1).leading_zeros();
        let mut keys = [0; ROUNDS];
        Stream { key, id: n, op: FEISTEL_OP }.fill(0, &mut keys);
        Self { n, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    fn apply(&self, values: &mut [i64]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just seen to have AVX2.
            return unsafe { self.apply_avx2(values) };
        }
        values.chunks_mut(BATCH).for_each(|batch| self.walk(batch));
    }

    /// The same code compiled for AVX2, which multiplies eight 32-bit numbers at once (plain x86-64 has no such).
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn apply_avx2(&self, values: &mut [i64]) {
        values.chunks_mut(BATCH).for_each(|batch| self.walk(batch));
    }

    /// Evaluate a batch, then again those that fell outside, until none did.
    #[inline(always)]
    fn walk(&self, batch: &mut [i64]) {
        self.evaluate(batch);
        let mut slots = [0_u16; BATCH];
        let mut strays = [0_i64; BATCH];
        let mut count = 0;
        for (slot, &value) in batch.iter().enumerate() {
            slots[count] = slot as u16;
            strays[count] = value;
            count += usize::from(value as u64 >= self.n);
        }
        while count > 0 {
            self.evaluate(&mut strays[..count]);
            let mut still = 0;
            for at in 0..count {
                let (slot, value) = (slots[at], strays[at]);
                batch[usize::from(slot)] = value;
                slots[still] = slot;
                strays[still] = value;
                still += usize::from(value as u64 >= self.n);
            }
            count = still;
        }
    }

    /// One pass through the network for each value, `LANES` side by side.
    #[inline(always)]
    fn evaluate(&self, values: &mut [i64]) {
        let (groups, rest) = values.as_chunks_mut::<LANES>();
        for group in groups {
            *group = self.evaluate_group(group);
        }
        if !rest.is_empty() {
            let mut group = [0; LANES];
            group[..rest.len()].copy_from_slice(rest);
            rest.copy_from_slice(&self.evaluate_group(&group)[..rest.len()]);
        }
    }

    #[inline(always)]
    fn evaluate_group(&self, values: &[i64; LANES]) -> [i64; LANES] {
        let low_mask = (1 << self.low_bits) - 1;
        let (low_shift, high_shift) = (32 - self.low_bits, 32 - self.high_bits);
        let (mut low, mut high) = ([0_u32; LANES], [0_u32; LANES]);
        for lane in 0..LANES {
            low[lane] = (values[lane] & low_mask) as u32;
            high[lane] = (values[lane] >> self.low_bits) as u32;
        }
        for pair in self.keys.chunks_exact(2) {
            for lane in 0..LANES {
                low[lane] ^= mix(high[lane] ^ pair[0]) >> low_shift;
            }
            for lane in 0..LANES {
                high[lane] ^= mix(low[lane] ^ pair[1]) >> high_shift;
            }
        }
        std::array::from_fn(|lane| i64::from(high[lane]) << self.low_bits | i64::from(low[lane]))
    }
}

#[inline(always)]
fn mix(value: u32) -> u32 {
    let first = value.wrapping_mul(0x7FEB_352D);
    (first ^ first >> 15).wrapping_mul(0x846C_A68B)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(key: u64, n: u64) -> Vec<i64> {
        let mut values: Vec<i64> = (0..n as i64).collect();
        Permutation::new(key, n).apply(&mut values).unwrap();
        values
    }

    /// Chi-square of `counts` against equal ones, in standard deviations from its mean.
    fn chi_square_sigmas(counts: &[u32]) -> f64 {
        let cells = counts.len() as f64;
        let expected = counts.iter().map(|&c| f64::from(c)).sum::<f64>() / cells;
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
        (chi2 - (cells - 1.0)) / (2.0 * (cells - 1.0)).sqrt()
    }

    #[test]
    fn every_size_is_a_bijection() {
        let sizes = (0..600).chain([1023, 1024, 1025, 4095, 4097, 65_535, 65_536, 65_537, 100_003]);
        for n in sizes {
            for key in [0, 1, u64::MAX] {
                let mut seen = all(key, n);
                seen.sort_unstable();
                assert!(seen.iter().enumerate().all(|(i, &v)| i as i64 == v), "n={n} key={key}");
            }
        }
    }

    #[test]
    fn out_of_range_names_the_first() {
        let mut values = [5, -1, 300];
        let error = Permutation::new(0, 300).apply(&mut values).unwrap_err();
        assert_eq!(error, OutOfRange { at: 1, position: -1 });
        assert_eq!(values, [5, -1, 300]);
        assert!(Permutation::new(0, 0).apply(&mut [0]).is_err());
    }

    #[test]
    fn the_largest_range_stays_inside() {
        let n = i64::MAX as u64;
        let mut values = [0, 1, 2, i64::MAX - 1];
        Permutation::new(3, n).apply(&mut values).unwrap();
        assert!(values.iter().all(|&v| (v as u64) < n));
    }

    #[test]
    fn all_permutations_of_four_are_equally_likely() {
        let mut counts = [0_u32; 256];
        for key in 0..24_000 {
            let p = all(key, 4);
            counts[p.iter().fold(0, |code, &v| code * 4 + v as usize)] += 1;
        }
        let used: Vec<u32> = counts.into_iter().filter(|&c| c > 0).collect();
        assert_eq!(used.len(), 24);
        assert!(chi_square_sigmas(&used).abs() < 4.0);
    }

    /// Where one position goes, where two go together, and how far apart two neighbours land: all uniform over keys.
    #[test]
    fn images_pairs_and_gaps_are_uniform_over_keys() {
        for n in [257_u64, 300, 1024, 5000, 65_536] {
            for (a, b) in [(0, 1), (17, 18), (3, 3 + n as i64 / 2), (0, n as i64 - 1)] {
                let cell = |v: i64| (v as u64 * 16 / n) as usize;
                let (mut pairs, mut gaps) = ([0_u32; 256], [0_u32; 16]);
                for key in 0..40_000 {
                    let mut values = [a, b];
                    Permutation::new(key, n).apply(&mut values).unwrap();
                    pairs[cell(values[0]) * 16 + cell(values[1])] += 1;
                    let gap = (values[1] - values[0]).rem_euclid(n as i64) as u64;
                    gaps[((gap - 1) * 16 / (n - 1)) as usize] += 1;
                }
                // Cells of n < 16 * 100 are unequal by up to one row in n / 16, hence only the coarse test there.
                if n % 16 == 0 && n > 5000 {
                    assert!(chi_square_sigmas(&pairs).abs() < 5.0, "pairs n={n} a={a} b={b}");
                }
                if (n - 1) % 16 == 0 || n >= 5000 {
                    assert!(chi_square_sigmas(&gaps).abs() < 5.0, "gaps n={n} a={a} b={b}");
                }
            }
        }
    }

    /// The mean of |p(i) - i| is (n^2 - 1) / 3n for a random permutation; its deviation is about 0.21 sqrt(n).
    #[test]
    fn displacement_is_that_of_a_random_permutation() {
        for n in [1000_u64, 4097, 65_536, 1 << 20] {
            for key in 0..20 {
                let total: f64 = all(key, n).iter().enumerate().map(|(i, &v)| (v - i as i64).abs() as f64).sum();
                let n = n as f64;
                let expected = (n * n - 1.0) / (3.0 * n);
                assert!((total / n - expected).abs() < 5.0 * 0.25 * n.sqrt(), "n={n} key={key}");
            }
        }
    }

    /// Serial correlation within one order, and correlation between the orders of neighbouring keys, are noise.
    #[test]
    fn neighbours_and_keys_are_uncorrelated() {
        let n = 20_000;
        let correlation = |a: &[i64], b: &[i64]| {
            let mean = (n - 1) as f64 / 2.0;
            let variance = (n as f64 * n as f64 - 1.0) / 12.0;
            let sum: f64 = a.iter().zip(b).map(|(&x, &y)| (x as f64 - mean) * (y as f64 - mean)).sum();
            sum / (a.len() as f64 * variance) * (a.len() as f64).sqrt()
        };
        for key in 0..50 {
            let (one, two) = (all(key, n), all(key + 1, n));
            assert!(correlation(&one, &two).abs() < 5.0, "key={key}");
            assert!(correlation(&one[1..], &one[..one.len() - 1]).abs() < 5.0, "key={key}");
        }
    }

    /// A random permutation has one fixed point on average.
    #[test]
    fn fixed_points_number_one_on_average() {
        let keys = 4000;
        let fixed: usize =
            (0..keys).map(|k| all(k, 300).iter().enumerate().filter(|(i, &v)| *i as i64 == v).count()).sum();
        assert!((fixed as f64 / keys as f64 - 1.0).abs() < 0.08, "{fixed}");
    }
}
