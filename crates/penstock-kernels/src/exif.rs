//! The orientation that a camera notes in EXIF: how stored pixels are turned to be seen upright.
//!
//! Source: CIPA DC-008 (Exif 2.32), tag 0x0112 of the first directory. Anything malformed is upright, as for Pillow.

use crate::image::{Image, Region};

const ORIENTATION: u16 = 0x0112;
const SHORT: u16 = 3;

/// How the upright image is read out of the stored one: perhaps swap its axes, then read its rows or columns backwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orientation {
    pub swaps: bool,
    /// Stored rows are read from the last to the first.
    rows: bool,
    /// Stored columns are.
    columns: bool,
}

impl Orientation {
    /// Of the values 1 to 8 of the tag; upright for any other.
    pub fn of(value: u16) -> Self {
        match value {
            2..=8 => Self {
                swaps: value >= 5,
                rows: matches!(value, 3 | 4 | 6 | 7),
                columns: matches!(value, 2 | 3 | 7 | 8),
            },
            _ => Self::default(),
        }
    }

    /// Of a TIFF header and its first directory, which is what an EXIF segment holds.
    pub fn from_tiff(tiff: &[u8]) -> Self {
        Self::of(tag(tiff).unwrap_or(1))
    }

    pub fn is_upright(self) -> bool {
        self == Self::default()
    }

    /// Height and width of the upright image.
    pub fn upright(self, height: usize, width: usize) -> (usize, usize) {
        if self.swaps {
            (width, height)
        } else {
            (height, width)
        }
    }

    /// Where a region of the upright image lies in the stored one, of `height` x `width`; it is inside.
    pub fn stored(self, region: Region, height: usize, width: usize) -> Region {
        let Region { mut top, mut left, height: mut rows, width: mut columns } = region;
        if self.swaps {
            (top, left, rows, columns) = (left, top, columns, rows);
        }
        if self.rows {
            top = height - (top + rows);
        }
        if self.columns {
            left = width - (left + columns);
        }
        Region { top, left, height: rows, width: columns }
    }

    /// Fractions of a side of the upright image from fractions of the stored one: (start, length) down and across.
    pub fn spans(self, down: (f32, f32), across: (f32, f32), height: usize, width: usize) -> [(f32, f32); 2] {
        let turned = |(start, length): (f32, f32), side: usize, backwards: bool| {
            (if backwards { side as f32 - (start + length) } else { start }, length)
        };
        let (down, across) = (turned(down, height, self.rows), turned(across, width, self.columns));
        if self.swaps {
            [across, down]
        } else {
            [down, across]
        }
    }

    /// Write the upright image to `out`; the stored one is `height` rows of `width` pixels, `pitch` values apart.
    pub fn turn<T: Copy>(
        self,
        stored: &[T],
        pitch: usize,
        (height, width, channels): (usize, usize, usize),
        out: &mut Vec<T>,
    ) {
        let (rows, columns) = self.upright(height, width);
        out.clear();
        out.reserve(height * width * channels);
        let place = |y: usize, x: usize| {
            let (row, column) = if self.swaps { (x, y) } else { (y, x) };
            let row = if self.rows { height - 1 - row } else { row };
            row * pitch + channels * if self.columns { width - 1 - column } else { column }
        };
        let each = (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x)));
        match channels {
            1 => out.extend(each.map(|(y, x)| stored[place(y, x)])),
            3 => each.for_each(|(y, x)| {
                let at = place(y, x);
                out.extend_from_slice(&[stored[at], stored[at + 1], stored[at + 2]]);
            }),
            _ => each.for_each(|(y, x)| out.extend_from_slice(&stored[place(y, x)..][..channels])),
        }
    }

    /// The upright form of a whole image.
    pub fn applied<T: Copy>(self, image: Image<T>) -> Image<T> {
        if self.is_upright() {
            return image;
        }
        let Image { data, height, width, channels } = image;
        let mut turned = Vec::new();
        self.turn(&data, width * channels, (height, width, channels), &mut turned);
        let (height, width) = self.upright(height, width);
        Image { data: turned, height, width, channels }
    }
}

fn tag(tiff: &[u8]) -> Option<u16> {
    let is_big = match tiff.get(..4)? {
        b"MM\0*" => true,
        b"II*\0" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let two = [*tiff.get(at)?, *tiff.get(at.checked_add(1)?)?];
        Some(if is_big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) })
    };
    let (first, second) = (usize::from(short(4)?), usize::from(short(6)?));
    let directory = if is_big { first << 16 | second } else { second << 16 | first };
    let entries = usize::from(short(directory)?);
    (0..entries)
        .map(|entry| directory + 2 + 12 * entry)
        .take_while(|&at| at < tiff.len())
        .find(|&at| short(at) == Some(ORIENTATION) && short(at + 2) == Some(SHORT))
        .and_then(|at| short(at + 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_a_region_is_the_region_of_the_turned() {
        let (height, width) = (5, 7);
        let stored: Vec<usize> = (0..height * width).collect();
        for value in 0..=9 {
            let orientation = Orientation::of(value);
            let mut whole = Vec::new();
            orientation.turn(&stored, width, (height, width, 1), &mut whole);
            let (rows, columns) = orientation.upright(height, width);
            let region = Region { top: 1, left: 2, height: rows - 2, width: columns - 3 };
            let part = orientation.stored(region, height, width);
            let mut turned = Vec::new();
            let first = part.top * width + part.left;
            orientation.turn(&stored[first..], width, (part.height, part.width, 1), &mut turned);
            let expected: Vec<usize> =
                (1..rows - 1).flat_map(|y| whole[y * columns + 2..y * columns + columns - 1].to_vec()).collect();
            assert_eq!(turned, expected, "orientation {value}");
        }
    }

    #[test]
    fn the_tag_is_read_in_either_byte_order() {
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
        for tiff in [&little[..], &big[..]] {
            assert_eq!(Orientation::from_tiff(tiff), Orientation::of(6));
            for end in 0..18 {
                assert!(Orientation::from_tiff(&tiff[..end]).is_upright());
            }
        }
        assert!(Orientation::from_tiff(b"II*\0\xff\xff\xff\xff").is_upright());
    }
}
