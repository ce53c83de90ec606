//! A decoder for the JPEGs that nearly all files are: baseline, grey or YCbCr, of which it decodes a region.
//!
//! It gives the pixels of libjpeg-turbo, to the last bit, in about half the time: entropy-coded data is read without
//! looking for markers, blocks outside the region are only passed over, and rows go out while they are in the cache.
//! Whatever it does not know or finds unsound it leaves to libjpeg-turbo, which decodes it or says what is wrong.

mod header;
mod huffman;
mod idct;
mod lines;
mod scan;

use header::{Component, Header};
use huffman::{unstuff, Coding, Stretches};
use lines::{Chroma, Plane};
use scan::{Part, Pending, Scan};

use super::decoder::{grow, Request, Window, PADDING};
use super::markers::Markers;
use crate::exif::Orientation;
use crate::image::Region;

/// Sides below which libjpeg-turbo interpolates chroma in other ways.
const SMALLEST: usize = 8;

/// Memory that is used again by the next file.
#[derive(Default)]
pub(super) struct Baseline {
    header: Header,
    clean: Vec<u8>,
    stretches: Stretches,
    planes: [Plane; 3],
    chroma: Chroma,
    pending: Pending,
}

impl Baseline {
    /// As `Decoder::decode`; None: libjpeg-turbo has to be asked.
    pub fn decode(&mut self, data: &[u8], request: Request, out: &mut Vec<u8>) -> Option<Window> {
        if request.reading.is_reference || !crate::simd::is_wide() || !std::arch::is_x86_feature_detected!("bmi2") {
            return None;
        }
        self.header.read(data)?;
        let orientation =
            if request.reading.is_oriented { Markers::walk(data).orientation() } else { Orientation::default() };
        let job = Job::new(&self.header, request, orientation)?;
        unstuff(&data[self.header.scan..], &mut self.clean, &mut self.stretches)?;
        if self.header.restart == 0 && self.stretches.len() > 1 {
            return None;
        }
        let pitch = job.width * job.channels;
        grow(out, job.region.height * pitch + PADDING);
        // SAFETY: the CPU has AVX2 and BMI2, as just asked (and BMI1, which came with BMI2).
        unsafe { self.rows(&job, out) }?;
        let Region { left, height, width, .. } = job.region;
        Some(Window {
            first: (left - job.left) * job.channels,
            pitch,
            height,
            width,
            channels: job.channels,
            spans: [(0.0, height as f32), (0.0, width as f32)],
            orientation,
        })
    }

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn rows(&mut self, job: &Job, out: &mut [u8]) -> Option<()> {
        let Self { header, clean, stretches, planes, chroma, pending } = self;
        let mut parts = Vec::with_capacity(3);
        for (component, plane) in header.components.iter().zip(planes.iter_mut()) {
            parts.push(Part { coding: coding(header, component)?, across: component.across, down: component.down });
            plane.begin((job.columns[1] - job.columns[0]) * component.across * 8, component.down * 8);
        }
        let mut scan = Scan::new(clean, stretches, header.restart);
        let bottom = job.region.top + job.region.height;
        let mut next = job.region.top;
        for row in 0..job.rows[1] {
            if row < job.rows[0] {
                scan.skip_row(&parts, job.mcus)?;
                continue;
            }
            scan.decode_row(&parts[..job.decoded], &parts[job.decoded..], job, row, planes, pending)?;
            // The last row of an MCU needs the chroma of the next.
            let lag = usize::from(job.down == 16 && row + 1 < job.rows[1]);
            let ready = bottom.min((row + 1) * job.down - lag);
            for y in next..ready {
                let target = &mut out[(y - job.region.top) * job.width * job.channels..];
                if job.decoded == 3 {
                    chroma.color(planes, job, y, target);
                } else {
                    let row = &planes[0].row(y)[job.left - job.columns[0] * job.across..][..job.width];
                    lines::grey(row, job.channels, target);
                }
            }
            next = next.max(ready);
        }
        Some(())
    }
}

fn coding<'a>(header: &'a Header, component: &Component) -> Option<Coding<'a>> {
    let quantization = header.quantization[component.quantization].as_ref()?;
    Some(Coding::new(&header.dc[component.dc], &header.ac[component.ac], quantization))
}

/// What of a file is decoded.
struct Job {
    region: Region,
    /// Of the output: 1 or 3.
    channels: usize,
    /// Components that are decoded; the others are passed over.
    decoded: usize,
    /// Pixels of an MCU.
    across: usize,
    down: usize,
    /// MCUs in a row of the file.
    mcus: usize,
    /// MCUs that are decoded: from, to.
    columns: [usize; 2],
    rows: [usize; 2],
    /// Where the decoded rows start, and how long they are: to the right edge of the region.
    left: usize,
    width: usize,
    /// Chroma samples of the whole image, across and down.
    chroma: [usize; 2],
}

impl Job {
    fn new(header: &Header, request: Request, orientation: Orientation) -> Option<Self> {
        let (height, width) = (header.height, header.width);
        if height.min(width) < SMALLEST || height * width > request.reading.limit_pixels {
            return None;
        }
        let (upright_height, upright_width) = orientation.upright(height, width);
        let whole = Region { top: 0, left: 0, height: upright_height, width: upright_width };
        let region = request.region.unwrap_or(whole);
        region.check_inside(upright_height, upright_width).ok()?;
        // What may be scaled is left to libjpeg-turbo.
        if request.target.is_some_and(|(rows, columns)| region.height >= 2 * rows && region.width >= 2 * columns) {
            return None;
        }
        let region = orientation.stored(region, height, width);
        let components = header.components.len();
        let channels = if request.reading.channels == 0 { components } else { request.reading.channels };
        let decoded = components.min(channels);
        let (across, down) = (header.components[0].across * 8, header.components[0].down * 8);
        let chroma = [width.div_ceil(across / 8), height.div_ceil(down / 8)];
        let left = region.left / (across / 8) * (across / 8);
        Some(Self {
            region,
            channels,
            decoded,
            across,
            down,
            mcus: width.div_ceil(across),
            columns: mcus(region.left, region.width, across / 8, chroma[0]),
            rows: mcus(region.top, region.height, down / 8, chroma[1]),
            left,
            width: region.left + region.width - left,
            chroma,
        })
    }
}

/// The MCUs (from, to) that `count` pixels from `first` on depend on, along an axis with a chroma sample for `scale` pixels
/// and `samples` of them: those of the pixels, and of a chroma sample on either side where they are interpolated.
fn mcus(first: usize, count: usize, scale: usize, samples: usize) -> [usize; 2] {
    let margin = scale - 1;
    let from = (first / scale).saturating_sub(margin);
    let to = ((first + count - 1) / scale + margin).min(samples - 1);
    [from / 8, to / 8 + 1]
}

#[cfg(test)]
mod tests {
    use super::super::{encode, with_decoder, Encoding, Reading, Sampling};
    use super::*;
    use crate::fault::DecodeFault;
    use crate::resize::Shape;

    /// Smooth in places, noise in others.
    fn picture(height: usize, width: usize, channels: usize, seed: usize) -> Vec<u8> {
        let mut state = seed as u32 | 1;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 24
        };
        let value = |at: usize, noise: u32| {
            let (x, y) = (at / channels % width, at / channels / width);
            let smooth = (x * 5 + y * 3 + at % channels * 40) as u32;
            (if (x / 16 + y / 16) % 3 == 0 { smooth + noise } else { smooth + noise / 32 }) as u8
        };
        (0..height * width * channels).map(|at| value(at, noise())).collect()
    }

    fn file(height: usize, width: usize, channels: usize, quality: u8, sampling: Sampling) -> Vec<u8> {
        let encoding = Encoding { quality, progressive: false, optimize: quality.is_multiple_of(2), sampling };
        let shape = Shape { height, width, channels };
        encode(&picture(height, width, channels, height * width), shape, encoding).unwrap()
    }

    fn pixels(window: Window, buffer: &[u8]) -> Vec<u8> {
        let row = |y: usize| &buffer[window.first + y * window.pitch..][..window.width * window.channels];
        (0..window.height).flat_map(|y| row(y).to_vec()).collect()
    }

    fn wanted(channels: usize, region: Option<Region>) -> Request {
        let limit_pixels = 1 << 20;
        let reading =
            Reading { channels, limit_pixels, allow_truncated: false, is_oriented: true, is_reference: false };
        Request { reading, region, target: None }
    }

    fn reference(data: &[u8], request: Request, out: &mut Vec<u8>) -> Result<Window, DecodeFault> {
        let reading = Reading { is_reference: true, ..request.reading };
        with_decoder(|decoder| decoder.decode(data, Request { reading, ..request }, out))
    }

    /// None where the decoder leaves the file to the other.
    fn both(decoder: &mut Baseline, data: &[u8], request: Request) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let window = decoder.decode(data, request, &mut ours)?;
        let expected = reference(data, request, &mut theirs).unwrap();
        assert_eq!((window.height, window.width), (expected.height, expected.width));
        assert_eq!(window.channels, expected.channels);
        Some((pixels(window, &ours), pixels(expected, &theirs)))
    }

    const SAMPLINGS: [Sampling; 3] = [Sampling::Full, Sampling::HalfWidth, Sampling::HalfBoth];

    #[test]
    fn whole_images_are_those_of_libjpeg_turbo() {
        let mut decoder = Baseline::default();
        for sampling in SAMPLINGS {
            for (height, width) in [(8, 8), (9, 17), (16, 16), (31, 33), (64, 48), (101, 203)] {
                for quality in [5, 50, 75, 90, 95, 100] {
                    for (stored, channels) in [(3, 3), (3, 1), (3, 0), (1, 1), (1, 3), (1, 0)] {
                        let data = file(height, width, stored, quality, sampling);
                        let request = wanted(channels, None);
                        let Some((ours, theirs)) = both(&mut decoder, &data, request) else {
                            panic!("left {sampling:?} {height} x {width} quality {quality} to the other");
                        };
                        assert!(ours == theirs, "{sampling:?} {height} x {width} q {quality} {stored} {channels}");
                    }
                }
            }
        }
    }

    #[test]
    fn regions_are_those_of_libjpeg_turbo() {
        let mut decoder = Baseline::default();
        for sampling in SAMPLINGS {
            let data = file(61, 93, 3, 91, sampling);
            for top in [0, 1, 7, 15, 16, 17, 33, 48, 60] {
                for left in [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 64, 92] {
                    for (rows, columns) in [(1, 1), (2, 3), (16, 16), (17, 31), (61, 93)] {
                        let (height, width) = (rows.min(61 - top), columns.min(93 - left));
                        let region = Some(Region { top, left, height, width });
                        let request = wanted(3, region);
                        let (ours, theirs) = both(&mut decoder, &data, request).unwrap();
                        assert!(ours == theirs, "{sampling:?} {region:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn damage_gives_the_pixels_of_libjpeg_turbo_or_none() {
        let mut decoder = Baseline::default();
        let data = file(40, 56, 3, 80, Sampling::HalfBoth);
        let mut kept = 0;
        for at in 2..data.len() {
            for flip in [1, 16, 255] {
                let mut damaged = data.clone();
                damaged[at] ^= flip;
                let mut ours = Vec::new();
                let request = wanted(3, None);
                if let Some(window) = decoder.decode(&damaged, request, &mut ours) {
                    let mut theirs = Vec::new();
                    let other = reference(&damaged, request, &mut theirs);
                    let expected = other.unwrap_or_else(|fault| panic!("{at} ^ {flip}: {fault}"));
                    assert!(pixels(window, &ours) == pixels(expected, &theirs), "{at} ^ {flip}");
                    kept += 1;
                }
            }
            assert!(decoder.decode(&data[..at], wanted(3, None), &mut Vec::new()).is_none());
        }
        assert!(kept > 0);
    }
}
