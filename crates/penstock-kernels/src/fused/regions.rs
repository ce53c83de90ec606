//! Which part of each image is needed: given, or reckoned from its size; drawn as `penstock.ops.draw` draws it, bit by bit.

use crate::fault::DecodeFault;
use crate::image::Region;
use crate::philox::Stream;

/// The parts of the images of a block.
#[derive(Clone, Copy, Debug)]
pub enum Regions<'a> {
    Whole,
    /// Top, left, height and width of each.
    Given(&'a [[i32; 4]]),
    /// The middle share of each side, as tf.image.central_crop rounds it.
    Central(f64),
    /// Drawn, each image from the stream of its identity.
    Drawn {
        key: u64,
        ids: &'a [u64],
        op: u32,
        crop: Crop,
    },
}

/// How a random region is chosen.
#[derive(Clone, Copy, Debug)]
pub enum Crop {
    /// Of this height and width, each place equally likely.
    Sized([usize; 2]),
    /// Its share of the area is uniform, its ratio of width to height log-uniform.
    Resized { area: [f64; 2], log_ratio: [f64; 2], ratio: [f64; 2] },
}

/// Tries before a resized crop is the largest central one.
const TRIES: usize = 10;

impl Regions<'_> {
    /// Whether regions depend on the sizes of images.
    pub fn need_shapes(&self) -> bool {
        matches!(self, Self::Central(_) | Self::Drawn { .. })
    }

    /// The region of image number `image`, which has `height` x `width`; None for all of it.
    pub fn of(&self, image: usize, height: usize, width: usize) -> Result<Option<Region>, DecodeFault> {
        match *self {
            Self::Whole => Ok(None),
            Self::Given(regions) => given(regions[image]).map(Some),
            Self::Central(share) => {
                let edge = |side: usize| ((side as f64 - side as f64 * share) / 2.0) as usize;
                let (top, left) = (edge(height), edge(width));
                Ok(Some(Region { top, left, height: height - 2 * top, width: width - 2 * left }))
            }
            Self::Drawn { key, ids, op, crop } => {
                let mut draws = Draws { stream: Stream { key, id: ids[image], op }, position: 0 };
                crop.draw(&mut draws, height, width).map(Some)
            }
        }
    }
}

fn given(numbers: [i32; 4]) -> Result<Region, DecodeFault> {
    let [top, left, height, width] = numbers.map(usize::try_from);
    match (top, left, height, width) {
        (Ok(top), Ok(left), Ok(height), Ok(width)) => Ok(Region { top, left, height, width }),
        _ => Err(DecodeFault::new(format!("a region has negative numbers: {numbers:?}"))),
    }
}

impl Crop {
    fn draw(self, draws: &mut Draws, height: usize, width: usize) -> Result<Region, DecodeFault> {
        let (area, log_ratio, ratio) = match self {
            Self::Sized([rows, columns]) if rows <= height && columns <= width => {
                return Ok(placed(draws, [height, width], [rows, columns]));
            }
            Self::Sized([rows, columns]) => {
                let what = format!("a crop of {rows} x {columns} from an image of {height} x {width}");
                return Err(DecodeFault::new(what));
            }
            Self::Resized { area, log_ratio, ratio } => (area, log_ratio, ratio),
        };
        for _ in 0..TRIES {
            let area = (height * width) as f64 * draws.uniform(area);
            let ratio = draws.uniform(log_ratio).exp();
            let (columns, rows) = (rounded((area * ratio).sqrt()), rounded((area / ratio).sqrt()));
            if 0.0 < columns && columns <= width as f64 && 0.0 < rows && rows <= height as f64 {
                return Ok(placed(draws, [height, width], [rows as usize, columns as usize]));
            }
        }
        Ok(largest_central(height, width, ratio))
    }
}

fn placed(draws: &mut Draws, [height, width]: [usize; 2], [rows, columns]: [usize; 2]) -> Region {
    let top = draws.below(height - rows + 1);
    let left = draws.below(width - columns + 1);
    Region { top, left, height: rows, width: columns }
}

/// As Python rounds: halves to even.
fn rounded(value: f64) -> f64 {
    value.round_ties_even()
}

fn largest_central(height: usize, width: usize, [narrowest, widest]: [f64; 2]) -> Region {
    let ratio = width as f64 / height as f64;
    let (mut rows, mut columns) = (height, width);
    if ratio < narrowest {
        rows = (rounded(width as f64 / narrowest) as usize).max(1);
    } else if ratio > widest {
        columns = (rounded(height as f64 * widest) as usize).max(1);
    }
    Region { top: (height - rows) / 2, left: (width - columns) / 2, height: rows, width: columns }
}

/// The numbers of one stream one after another, as `penstock.rng.Rng` gives them.
struct Draws {
    stream: Stream,
    position: u64,
}

impl Draws {
    fn bits(&mut self) -> u64 {
        let mut words = [0; 2];
        self.stream.fill(self.position, &mut words);
        self.position += 2;
        u64::from(words[0]) | u64::from(words[1]) << 32
    }

    fn uniform(&mut self, [low, high]: [f64; 2]) -> f64 {
        let unit = (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
        low + (high - low) * unit
    }

    /// One of `0..span`, which is at most 2^32: sides of images are.
    fn below(&mut self, span: usize) -> usize {
        let (bits, span) = (self.bits(), span as u64);
        let (upper, lower) = ((bits >> 32) * span, ((bits & 0xFFFF_FFFF) * span) >> 32);
        ((upper + lower) >> 32) as usize
    }
}
