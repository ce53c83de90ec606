//! Rows of pixels from the samples of components: chroma interpolated, YCbCr turned into RGB.
//!
//! The same numbers as libjpeg-turbo's "fancy" upsampling and its integer colour conversion.
//! Source: libjpeg-turbo, src/jdsample.c (h2v1_fancy_upsample, h2v2_fancy_upsample), src/jdcolor.c.

use std::arch::x86_64::*;

use super::Job;

/// Samples before the first of a row: one is read there.
const BEFORE: usize = 32;
/// Samples after the last of a row that may be read.
const AFTER: usize = 96;
/// Pixels done at a time.
const STEP: usize = 16;

/// The samples of a component for two rows of MCUs, the one at work and the one before; a row of the image has its place
/// by its number.
#[derive(Default)]
pub struct Plane {
    data: Vec<u8>,
    pitch: usize,
    rows: usize,
}

impl Plane {
    /// For MCUs of `rows` samples, and `width` samples in a row.
    pub fn begin(&mut self, width: usize, rows: usize) {
        self.pitch = BEFORE + width + AFTER;
        self.rows = 2 * rows;
        if self.data.len() < self.pitch * self.rows {
            self.data.resize(self.pitch * self.rows, 0);
        }
    }

    /// Where sample `x` of row `y` is.
    pub fn offset(&self, y: usize, x: usize) -> usize {
        y % self.rows * self.pitch + BEFORE + x
    }

    /// Write a block.
    #[inline(always)]
    pub fn put(&mut self, offset: usize, rows: [u64; 8]) {
        let target = &mut self.data[offset..offset + 7 * self.pitch + 8];
        for (number, row) in rows.into_iter().enumerate() {
            target[number * self.pitch..][..8].copy_from_slice(&row.to_le_bytes());
        }
    }

    /// Row `y` of the image, from its first sample here on.
    pub fn row(&self, y: usize) -> &[u8] {
        &self.data[self.offset(y, 0)..]
    }

    /// Row `y` from the sample before `x` on, what lies outside the image being as its edge: `samples` are in the row,
    /// of which the first here is number `first`.
    fn edged_row(&mut self, y: usize, x: usize, first: usize, samples: usize) -> &[u8] {
        let start = self.offset(y, 0);
        if first == 0 {
            self.data[start - 1] = self.data[start];
        }
        let last = samples - 1 - first;
        if last + BEFORE + AFTER < self.pitch {
            self.data[start + last + 1] = self.data[start + last];
        }
        &self.data[start + x - 1..]
    }
}

/// The interpolated chroma of a row.
#[derive(Default)]
pub struct Chroma {
    lines: [Vec<u8>; 2],
}

impl Chroma {
    /// Write row `y` of the image, as RGB.
    #[target_feature(enable = "avx2")]
    pub fn color(&mut self, planes: &mut [Plane; 3], job: &Job, y: usize, target: &mut [u8]) {
        let (scale, first) = (job.across / 8, job.columns[0] * 8);
        let x = job.left / scale - first;
        let [luma, blue, red] = planes;
        if scale == 1 {
            let from = |plane: &Plane| plane.offset(y, x);
            let rows = [&luma.data[from(luma)..], &blue.data[from(blue)..], &red.data[from(red)..]];
            return rgb(rows, job.width, target);
        }
        for (plane, line) in [blue, red].into_iter().zip(&mut self.lines) {
            if line.len() < job.width + 2 * STEP {
                line.resize(job.width + 2 * STEP, 0);
            }
            if job.down == 8 {
                doubled(plane.edged_row(y, x, first, job.chroma[0]), job.width, line);
                continue;
            }
            let near = y / 2;
            let far = if y.is_multiple_of(2) { near.saturating_sub(1) } else { (near + 1).min(job.chroma[1] - 1) };
            plane.edged_row(far, x, first, job.chroma[0]);
            plane.edged_row(near, x, first, job.chroma[0]);
            let rows = [near, far].map(|row| &plane.data[plane.offset(row, x) - 1..]);
            doubled_both_ways(rows, job.width, line);
        }
        let y_row = &luma.data[luma.offset(y, job.left - job.columns[0] * job.across)..];
        rgb([y_row, &self.lines[0], &self.lines[1]], job.width, target);
    }
}

/// 16 bytes as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: 16 bytes are there.
    _mm256_cvtepu8_epi16(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(values: __m256i, target: &mut [u8; 32]) {
    // SAFETY: 32 bytes are there.
    unsafe { _mm256_storeu_si256(target.as_mut_ptr().cast(), values) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn thrice(values: __m256i) -> __m256i {
    _mm256_add_epi16(values, _mm256_add_epi16(values, values))
}

/// The 16 samples from `at` on, with those before and after each.
#[inline(always)]
fn neighbours(row: &[u8], at: usize) -> [&[u8; 16]; 3] {
    let all: &[u8; 18] = row[at..].first_chunk().unwrap_or_else(|| unreachable!("rows are longer than they are wide"));
    let part = |start: usize| all[start..].first_chunk().unwrap_or_else(|| unreachable!("16 of 18"));
    [part(0), part(1), part(2)]
}

/// Two pixels for each sample: 3/4 of it and 1/4 of the nearer neighbour. `row` starts with the sample before the first.
#[target_feature(enable = "avx2")]
fn doubled(row: &[u8], width: usize, line: &mut [u8]) {
    let (one, two) = (_mm256_set1_epi16(1), _mm256_set1_epi16(2));
    for (step, target) in line.as_chunks_mut::<32>().0.iter_mut().take(width.div_ceil(32)).enumerate() {
        let [before, here, after] = neighbours(row, step * 16);
        let here = thrice(load(here));
        let even = _mm256_srli_epi16::<2>(_mm256_add_epi16(_mm256_add_epi16(here, load(before)), one));
        let odd = _mm256_srli_epi16::<2>(_mm256_add_epi16(_mm256_add_epi16(here, load(after)), two));
        store(_mm256_or_si256(even, _mm256_slli_epi16::<8>(odd)), target);
    }
}

/// As `doubled`, from the sums of 3/4 of the nearer row and 1/4 of the farther.
#[target_feature(enable = "avx2")]
fn doubled_both_ways([near, far]: [&[u8]; 2], width: usize, line: &mut [u8]) {
    let (seven, eight) = (_mm256_set1_epi16(7), _mm256_set1_epi16(8));
    for (step, target) in line.as_chunks_mut::<32>().0.iter_mut().take(width.div_ceil(32)).enumerate() {
        let (near, far) = (neighbours(near, step * 16), neighbours(far, step * 16));
        let before = _mm256_add_epi16(thrice(load(near[0])), load(far[0]));
        let here = thrice(_mm256_add_epi16(thrice(load(near[1])), load(far[1])));
        let after = _mm256_add_epi16(thrice(load(near[2])), load(far[2]));
        let even = _mm256_srli_epi16::<4>(_mm256_add_epi16(_mm256_add_epi16(here, before), eight));
        let odd = _mm256_srli_epi16::<4>(_mm256_add_epi16(_mm256_add_epi16(here, after), seven));
        store(_mm256_or_si256(even, _mm256_slli_epi16::<8>(odd)), target);
    }
}

/// 16 values of 0 to 255, clamped, as bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes(values: __m256i) -> __m128i {
    _mm_packus_epi16(_mm256_castsi256_si128(values), _mm256_extracti128_si256::<1>(values))
}

/// Y, Cb and Cr to RGB; up to 45 bytes after the last pixel are written too.
///
/// The fractions of jdcolor.c in 16 bits, less the whole numbers that do not fit: 91881 = 65536 + 26345 (red of Cr),
/// 116130 = 2 * 65536 - 14942 (blue of Cb), -46802 = 18734 - 65536 (green of Cr), -22554 (green of Cb).
#[target_feature(enable = "avx2")]
fn rgb([luma, blue, red]: [&[u8]; 3], width: usize, target: &mut [u8]) {
    let (one, centre) = (_mm256_set1_epi16(1), _mm256_set1_epi16(128));
    let (red_of_cr, blue_of_cb) = (_mm256_set1_epi16(26345), _mm256_set1_epi16(-14942));
    let (greens, half) = (_mm256_set1_epi32((18734 << 16) | (-22554_i32 & 0xFFFF)), _mm256_set1_epi32(1 << 15));
    let rows = luma.as_chunks::<STEP>().0.iter().zip(blue.as_chunks::<STEP>().0).zip(red.as_chunks::<STEP>().0);
    let targets = target.as_chunks_mut::<{ 3 * STEP }>().0;
    for (((luma, blue), red), target) in rows.zip(targets).take(width.div_ceil(STEP)) {
        let y = load(luma);
        let cb = _mm256_sub_epi16(load(blue), centre);
        let cr = _mm256_sub_epi16(load(red), centre);
        let (cb2, cr2) = (_mm256_add_epi16(cb, cb), _mm256_add_epi16(cr, cr));
        let rounded = |product| _mm256_srai_epi16::<1>(_mm256_add_epi16(product, one));
        let r = _mm256_add_epi16(_mm256_add_epi16(y, cr), rounded(_mm256_mulhi_epi16(cr2, red_of_cr)));
        let b = _mm256_add_epi16(_mm256_add_epi16(y, cb2), rounded(_mm256_mulhi_epi16(cb2, blue_of_cb)));
        let green = |pairs| _mm256_srai_epi32::<16>(_mm256_add_epi32(_mm256_madd_epi16(pairs, greens), half));
        let low = green(_mm256_unpacklo_epi16(cb, cr));
        let high = green(_mm256_unpackhi_epi16(cb, cr));
        let g = _mm256_add_epi16(_mm256_sub_epi16(y, cr), _mm256_packs_epi32(low, high));
        interleave([bytes(r), bytes(g), bytes(b)], target);
    }
}

/// Where byte `place` of 48 interleaved ones comes from, if it is of channel `channel`.
const fn source(place: usize, channel: usize) -> i8 {
    if place % 3 == channel {
        (place / 3) as i8
    } else {
        -1
    }
}

const SOURCES: [[[i8; 16]; 3]; 3] = {
    let mut sources = [[[-1; 16]; 3]; 3];
    let mut at = 0;
    while at < 144 {
        sources[at / 48][at / 16 % 3][at % 16] = source(at / 48 * 16 + at % 16, at / 16 % 3);
        at += 1;
    }
    sources
};

#[inline]
#[target_feature(enable = "avx2")]
fn interleave(channels: [__m128i; 3], target: &mut [u8; 48]) {
    for (sources, target) in SOURCES.iter().zip(target.as_chunks_mut::<16>().0) {
        let mut all = _mm_setzero_si128();
        for (channel, sources) in channels.iter().zip(sources) {
            // SAFETY: 16 bytes are there.
            let places = unsafe { _mm_loadu_si128(sources.as_ptr().cast()) };
            all = _mm_or_si128(all, _mm_shuffle_epi8(*channel, places));
        }
        // SAFETY: 16 bytes are there.
        unsafe { _mm_storeu_si128(target.as_mut_ptr().cast(), all) };
    }
}

/// Grey as it is, or three times.
pub fn grey(row: &[u8], channels: usize, target: &mut [u8]) {
    if channels == 1 {
        target[..row.len()].copy_from_slice(row);
        return;
    }
    for (pixel, &value) in target.as_chunks_mut::<3>().0.iter_mut().zip(row) {
        *pixel = [value; 3];
    }
}
