//! Philox4x32-10: random words as a pure function of key and counter.
//!
//! The law of the counter (shared with `python/penstock/rng.py`): from its lowest word, draw block, op number, low and
//! high half of the identity. Word `d` of a stream is word `d % 4` of block `d / 4`.
//!
//! Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; Random123.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Words that one stream holds: the draw block is 32 bits of the counter.
pub const STREAM_WORDS: u64 = 1 << 34;

/// The four words at `counter` under `key` (low half first).
#[inline]
pub fn block(key: u64, counter: [u32; 4]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    for _ in 0..ROUNDS {
        let p0 = u64::from(c0) * u64::from(MULTIPLIERS[0]);
        let p1 = u64::from(c2) * u64::from(MULTIPLIERS[1]);
        c0 = (p1 >> 32) as u32 ^ c1 ^ k0;
        c1 = p1 as u32;
        c2 = (p0 >> 32) as u32 ^ c3 ^ k1;
        c3 = p0 as u32;
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3]
}

/// One stream: the random numbers of one identity in one op.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    pub key: u64,
    pub id: u64,
    pub op: u32,
}

impl Stream {
    /// Write words `first..first + out.len()` into `out`. Words past `STREAM_WORDS` wrap round to the first.
    pub fn fill(self, first: u64, out: &mut [u32]) {
        let mut position = first;
        let mut rest = out;
        while !rest.is_empty() {
            let words = block(self.key, [(position / 4) as u32, self.op, self.id as u32, (self.id >> 32) as u32]);
            let skip = (position % 4) as usize;
            let count = rest.len().min(4 - skip);
            let (head, tail) = rest.split_at_mut(count);
            head.copy_from_slice(&words[skip..skip + count]);
            rest = tail;
            position += count as u64;
        }
    }
}

/// The first `draws` words of each identity's stream, row by row into `out` (`ids.len() * draws` words).
pub fn fill_rows(key: u64, ids: &[u64], op: u32, draws: usize, out: &mut [u32]) {
    debug_assert_eq!(out.len(), ids.len() * draws);
    if draws == 0 {
        return;
    }
    for (&id, row) in ids.iter().zip(out.chunks_exact_mut(draws)) {
        Stream { key, id, op }.fill(0, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of Random123 1.14, tests/kat_vectors, philox4x32 10.
    #[test]
    fn block_matches_random123() {
        let ones = u32::MAX;
        assert_eq!(block(0, [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(block(u64::MAX, [ones; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            block(0x299f_31d0_a409_3822, [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn fill_from_any_position_is_a_slice_of_the_stream() {
        let stream = Stream { key: 7, id: 1 << 40, op: 3 };
        let mut whole = [0; 23];
        stream.fill(0, &mut whole);
        for first in 0..9 {
            let mut part = [0; 11];
            stream.fill(first as u64, &mut part);
            assert_eq!(part, whole[first..first + 11]);
        }
    }
}
