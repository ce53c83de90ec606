//! Sequences into bins: which bin each goes to, its tokens copied to their place, and the segment and position of each.

/// Put sequences into bins, one after another, until one fits into none; how many found a bin.
///
/// A sequence has a length per feature: `lengths` is [n, features], as `used` is [bins, features], what the bins hold
/// already. It fits where every feature does. `fullest`: it goes to the fullest bin it fits into (the first of equals),
/// else to the first. `bins_of` [n] tells where each went.
///
/// As `FirstFitPackIterDataset` and `BestFitPackIterDataset` of Grain 0.2 choose.
pub fn assign_bins(lengths: &[i64], capacities: &[i64], used: &mut [i64], fullest: bool, bins_of: &mut [i64]) -> usize {
    let features = capacities.len().max(1);
    for (number, sequence) in lengths.chunks_exact(features).enumerate() {
        let mut found = None;
        let mut most = -1;
        for (bin, taken) in used.chunks_exact(features).enumerate() {
            let fits = taken.iter().zip(sequence).zip(capacities).all(|((has, more), room)| has + more <= *room);
            let held = if fullest { taken.iter().sum() } else { 0 };
            if fits && held > most {
                most = held;
                found = Some(bin);
                if !fullest {
                    break;
                }
            }
        }
        let Some(bin) = found else { return number };
        for (has, more) in used[bin * features..][..features].iter_mut().zip(sequence) {
            *has += more;
        }
        bins_of[number] = bin as i64;
    }
    lengths.len() / features
}

/// Write the segment and the position of every token: those of piece i are ids[i], and 0, 1, ... for each of its
/// `lengths[i]` tokens from `starts[i]` on. False, and nothing written, where a piece does not lie inside.
pub fn mark_segments(
    starts: &[i64],
    lengths: &[i64],
    ids: &[i32],
    segments: &mut [i32],
    positions: &mut [i32],
) -> bool {
    let room = segments.len().min(positions.len()) as i64;
    let is_inside =
        |(start, length): (&i64, &i64)| *start >= 0 && *length >= 0 && *length <= room && *start <= room - length;
    if !starts.iter().zip(lengths).all(is_inside) {
        return false;
    }
    for ((&start, &length), &id) in starts.iter().zip(lengths).zip(ids) {
        let piece = start as usize..(start + length) as usize;
        segments[piece.clone()].fill(id);
        for (place, position) in positions[piece].iter_mut().zip(0..) {
            *place = position;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(lengths: &[i64], capacities: &[i64], bins: usize, fullest: bool) -> Vec<i64> {
        let features = capacities.len();
        let mut used = vec![0; bins * features];
        let mut bins_of = vec![-1; lengths.len() / features];
        let count = assign_bins(lengths, capacities, &mut used, fullest, &mut bins_of);
        bins_of.truncate(count);
        bins_of
    }

    #[test]
    fn the_first_bin_with_room_takes_a_sequence() {
        assert_eq!(assigned(&[3, 4, 2, 1, 5], &[6], 3, false), [0, 1, 0, 0, 2]);
    }

    #[test]
    fn the_fullest_bin_with_room_takes_a_sequence() {
        assert_eq!(assigned(&[3, 4, 2, 3], &[6], 3, true), [0, 1, 1, 0]);
    }

    #[test]
    fn a_sequence_that_fits_nowhere_stops_the_rest() {
        assert_eq!(assigned(&[4, 4, 4, 1], &[6], 2, false), [0, 1]);
    }

    #[test]
    fn every_feature_has_to_fit() {
        assert_eq!(assigned(&[2, 5, 2, 2, 2, 1], &[6, 6], 2, false), [0, 1, 0]);
    }

    #[test]
    fn tokens_know_their_segment_and_position() {
        let (mut segments, mut positions) = ([0; 6], [0; 6]);
        assert!(mark_segments(&[0, 2], &[2, 3], &[1, 2], &mut segments, &mut positions));
        assert_eq!((segments, positions), ([1, 1, 2, 2, 2, 0], [0, 1, 0, 1, 2, 0]));
    }

    #[test]
    fn a_piece_outside_is_refused() {
        let (mut segments, mut positions) = ([0; 6], [0; 6]);
        for (start, length) in [(-1, 1), (5, 2), (0, 7), (7, 0), (0, -1), (i64::MAX, i64::MAX)] {
            assert!(!mark_segments(&[start], &[length], &[1], &mut segments, &mut positions));
        }
    }
}
