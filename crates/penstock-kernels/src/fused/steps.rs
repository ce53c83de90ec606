//! Steps of a fused pass: what may follow one another, and the operations on rows that they become.
//!
//! Between steps a row is float32, channels innermost, whatever the values stand for: `Kind::Bytes` are whole numbers
//! from 0 to 255. Flips move pixels and nothing else, so all of them become one, done while a row is read.

use super::color::Color;

/// What the values between two steps stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// uint8.
    Bytes,
    /// float32.
    Floats,
}

/// One step of the user's program. Vectors of flips, deltas and factors have one entry for each image of the block;
/// those of arithmetic one for each channel, or one for all.
#[derive(Clone, Debug)]
pub enum Step {
    FlipLeftRight(Vec<bool>),
    /// To the nearest whole number, halves to even, within 0 to 255: floats become bytes.
    Round,
    AdjustBrightness(Vec<f32>),
    AdjustContrast(Vec<f32>),
    AdjustSaturation(Vec<f32>),
    /// In turns of the colour circle.
    AdjustHue(Vec<f32>),
    /// tf.image.convert_image_dtype.
    Convert {
        to: Kind,
        saturate: bool,
    },
    /// As C converts: cut towards zero, wrapped.
    Cast(Kind),
    /// `value * scale + offset`; gives floats.
    Affine {
        scale: Vec<f32>,
        offset: Vec<f32>,
    },
    Multiply(Vec<f32>),
    Add(Vec<f32>),
    Subtract(Vec<f32>),
    Divide(Vec<f32>),
}

/// An operation on one row in place. Vectors of arithmetic are as long as a row.
#[derive(Debug)]
pub(super) enum Op {
    Round,
    /// `Round`, then `Affine`: what most programs have.
    RoundAffine(Vec<f32>, Vec<f32>),
    Cut,
    ToFloats,
    ToBytes {
        saturate: bool,
    },
    Color {
        color: Color,
        kind: Kind,
        amounts: Vec<f32>,
    },
    Affine(Vec<f32>, Vec<f32>),
    Multiply(Vec<f32>),
    Add(Vec<f32>),
    Subtract(Vec<f32>),
    Divide(Vec<f32>),
}

/// Steps that fit together, in a block of `images` images of `width` x `channels`.
#[derive(Debug)]
pub(super) struct Program {
    /// Never empty; each but the first starts with a contrast, which needs the means of the image that it gets.
    pub segments: Vec<Vec<Op>>,
    flips: Vec<Vec<bool>>,
}

impl Program {
    /// Whether the image is mirrored: by an odd number of flips.
    pub fn mirrored(&self, image: usize) -> bool {
        self.flips.iter().filter(|flips| flips[image]).count() % 2 == 1
    }
}

/// Sizes that the vectors of steps have to fit.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub images: usize,
    pub width: usize,
    pub channels: usize,
}

/// Check the steps one after another; gives the program and the kind of its result.
pub(super) fn compile(steps: &[Step], mut kind: Kind, sizes: Sizes) -> Result<(Program, Kind), String> {
    let mut program = Program { segments: vec![Vec::new()], flips: Vec::new() };
    for (number, step) in steps.iter().enumerate() {
        let refuse = |why: &str| Err(format!("steps[{number}] ({}): {why}", step.name()));
        if let Some(amounts) = step.per_image() {
            if amounts != sizes.images {
                return refuse(&format!("{amounts} values, expected {}, one for each image", sizes.images));
            }
        }
        if let Some(wrong) = step.per_channel().into_iter().flatten().find(|len| ![1, sizes.channels].contains(len)) {
            return refuse(&format!("{wrong} values, expected 1 or {}, one for each channel", sizes.channels));
        }
        if step.needs_floats() && kind == Kind::Bytes {
            return refuse("takes floats, got uint8; cast or convert first");
        }
        if matches!(step, Step::AdjustSaturation(_) | Step::AdjustHue(_)) && sizes.channels != 3 {
            return refuse(&format!("takes RGB, got {} channels", sizes.channels));
        }
        lower(step, &mut kind, sizes, &mut program);
    }
    Ok((program, kind))
}

fn lower(step: &Step, kind: &mut Kind, sizes: Sizes, program: &mut Program) {
    let row = |values: &[f32]| {
        let pixel = if values.len() == 1 { values.repeat(sizes.channels) } else { values.to_vec() };
        pixel.repeat(sizes.width)
    };
    let color = |color, amounts: &[f32]| Op::Color { color, kind: *kind, amounts: amounts.to_vec() };
    let op = match step {
        Step::FlipLeftRight(flips) => {
            program.flips.push(flips.clone());
            return;
        }
        Step::Round if *kind == Kind::Floats => Op::Round,
        Step::AdjustBrightness(deltas) => color(Color::Brightness, deltas),
        Step::AdjustContrast(factors) => color(Color::Contrast, factors),
        Step::AdjustSaturation(factors) => color(Color::Saturation, factors),
        Step::AdjustHue(deltas) => color(Color::Hue, deltas),
        Step::Convert { to: Kind::Floats, .. } if *kind == Kind::Bytes => Op::ToFloats,
        Step::Convert { to: Kind::Bytes, saturate } if *kind == Kind::Floats => Op::ToBytes { saturate: *saturate },
        Step::Cast(Kind::Bytes) if *kind == Kind::Floats => Op::Cut,
        Step::Affine { scale, offset } => Op::Affine(row(scale), row(offset)),
        Step::Multiply(values) => Op::Multiply(row(values)),
        Step::Add(values) => Op::Add(row(values)),
        Step::Subtract(values) => Op::Subtract(row(values)),
        Step::Divide(values) => Op::Divide(row(values)),
        // Already so: bytes are whole floats.
        Step::Round | Step::Convert { .. } | Step::Cast(_) => {
            *kind = step.result(*kind);
            return;
        }
    };
    *kind = step.result(*kind);
    let Some(segment) = program.segments.last_mut().filter(|_| !matches!(step, Step::AdjustContrast(_))) else {
        program.segments.push(vec![op]);
        return;
    };
    let op = match (segment.pop_if(|last| matches!((last, &op), (Op::Round, Op::Affine(..)))), op) {
        (Some(_), Op::Affine(scale, offset)) => Op::RoundAffine(scale, offset),
        (_, op) => op,
    };
    segment.push(op);
}

impl Step {
    fn result(&self, kind: Kind) -> Kind {
        match self {
            Self::FlipLeftRight(_)
            | Self::AdjustBrightness(_)
            | Self::AdjustContrast(_)
            | Self::AdjustSaturation(_)
            | Self::AdjustHue(_) => kind,
            Self::Round => Kind::Bytes,
            Self::Convert { to, .. } | Self::Cast(to) => *to,
            Self::Affine { .. } | Self::Multiply(_) | Self::Add(_) | Self::Subtract(_) | Self::Divide(_) => {
                Kind::Floats
            }
        }
    }

    fn needs_floats(&self) -> bool {
        matches!(self, Self::Multiply(_) | Self::Add(_) | Self::Subtract(_) | Self::Divide(_))
    }

    fn per_image(&self) -> Option<usize> {
        match self {
            Self::FlipLeftRight(flips) => Some(flips.len()),
            Self::AdjustBrightness(values)
            | Self::AdjustContrast(values)
            | Self::AdjustSaturation(values)
            | Self::AdjustHue(values) => Some(values.len()),
            _ => None,
        }
    }

    fn per_channel(&self) -> [Option<usize>; 2] {
        match self {
            Self::Affine { scale, offset } => [Some(scale.len()), Some(offset.len())],
            Self::Multiply(values) | Self::Add(values) | Self::Subtract(values) | Self::Divide(values) => {
                [Some(values.len()), None]
            }
            _ => [None, None],
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::FlipLeftRight(_) => "flip_left_right",
            Self::Round => "round",
            Self::AdjustBrightness(_) => "adjust_brightness",
            Self::AdjustContrast(_) => "adjust_contrast",
            Self::AdjustSaturation(_) => "adjust_saturation",
            Self::AdjustHue(_) => "adjust_hue",
            Self::Convert { .. } => "convert_image_dtype",
            Self::Cast(_) => "cast",
            Self::Affine { .. } => "affine",
            Self::Multiply(_) => "multiply",
            Self::Add(_) => "add",
            Self::Subtract(_) => "subtract",
            Self::Divide(_) => "divide",
        }
    }
}
