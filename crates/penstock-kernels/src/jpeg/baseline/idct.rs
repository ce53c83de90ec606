//! The inverse DCT of libjpeg-turbo's accurate integer method, two blocks at a time, one in each half of a vector.
//!
//! The same sums in the same widths as its AVX2 code, so the same bits also where they saturate.
//! Source: libjpeg-turbo, simd/x86_64/jidctint-avx2.asm; Loeffler, Ligtenberg, Moschytz, ICASSP 1989.

use std::arch::x86_64::*;

use super::huffman::Block;

const CONST_BITS: i32 = 13;
const PASS1_BITS: i32 = 2;

const F_0_298: i16 = 2446;
const F_0_390: i16 = 3196;
const F_0_541: i16 = 4433;
const F_0_765: i16 = 6270;
const F_0_899: i16 = 7373;
const F_1_175: i16 = 9633;
const F_1_501: i16 = 12299;
const F_1_847: i16 = 15137;
const F_1_961: i16 = 16069;
const F_2_053: i16 = 16819;
const F_2_562: i16 = 20995;
const F_3_072: i16 = 25172;

/// The pixels of two blocks: eight vectors, row after row; 8 bytes in each half.
#[target_feature(enable = "avx2")]
pub fn pixels(first: &Block, second: &Block) -> [[u64; 2]; 8] {
    let mut rows = [_mm256_setzero_si256(); 8];
    for (number, row) in rows.iter_mut().enumerate() {
        // SAFETY: a block has more than eight rows of eight values.
        *row = unsafe {
            _mm256_inserti128_si256::<1>(
                _mm256_castsi128_si256(_mm_loadu_si128(first.as_ptr().add(8 * number).cast())),
                _mm_loadu_si128(second.as_ptr().add(8 * number).cast()),
            )
        };
    }
    let columns = transpose(pass::<{ CONST_BITS - PASS1_BITS }>(rows));
    let rows = transpose(pass::<{ CONST_BITS + PASS1_BITS + 3 }>(columns));
    let centre = _mm256_set1_epi8(-128);
    let mut out = [[0; 2]; 8];
    for number in 0..4 {
        let two = _mm256_add_epi8(_mm256_packs_epi16(rows[2 * number], rows[2 * number + 1]), centre);
        let halves = [_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two)];
        for (half, pixels) in halves.into_iter().enumerate() {
            out[2 * number][half] = _mm_cvtsi128_si64(pixels) as u64;
            out[2 * number + 1][half] = _mm_extract_epi64::<1>(pixels) as u64;
        }
    }
    out
}

/// A row of a block whose coefficients are zero but for the first: what `pixels` gives.
pub fn flat(coefficient: i16) -> u64 {
    let value = ((i32::from(coefficient) << PASS1_BITS) + 16) >> 5;
    0x0101_0101_0101_0101 * (value.clamp(-128, 127) + 128) as u64
}

/// Weights of two neighbouring values.
#[target_feature(enable = "avx2")]
fn pair(first: i16, second: i16) -> __m256i {
    _mm256_set1_epi32((i32::from(second) << 16) | i32::from(first as u16))
}

/// `a * weights.0 + b * weights.1`, lower and upper values.
#[target_feature(enable = "avx2")]
fn weigh(a: __m256i, b: __m256i, weights: __m256i) -> [__m256i; 2] {
    [_mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weights), _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weights)]
}

/// Times 2^13, as 32 bits, lower and upper values.
#[target_feature(enable = "avx2")]
fn widen(a: __m256i) -> [__m256i; 2] {
    let zero = _mm256_setzero_si256();
    [_mm256_unpacklo_epi16(zero, a), _mm256_unpackhi_epi16(zero, a)].map(|wide| _mm256_srai_epi32::<3>(wide))
}

#[target_feature(enable = "avx2")]
fn add(a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
    [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])]
}

#[target_feature(enable = "avx2")]
fn subtract(a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
    [_mm256_sub_epi32(a[0], b[0]), _mm256_sub_epi32(a[1], b[1])]
}

/// Rounded, less `SHIFT` bits, as 16 bits.
#[target_feature(enable = "avx2")]
fn narrow<const SHIFT: i32>(a: [__m256i; 2]) -> __m256i {
    let half = _mm256_set1_epi32(1 << (SHIFT - 1));
    let [low, high] = a.map(|wide| _mm256_srai_epi32::<SHIFT>(_mm256_add_epi32(wide, half)));
    _mm256_packs_epi32(low, high)
}

/// Columns (of each half), one-dimensional.
#[target_feature(enable = "avx2")]
fn pass<const SHIFT: i32>(x: [__m256i; 8]) -> [__m256i; 8] {
    let tmp3 = weigh(x[2], x[6], pair(F_0_541 + F_0_765, F_0_541));
    let tmp2 = weigh(x[2], x[6], pair(F_0_541, F_0_541 - F_1_847));
    let tmp0 = widen(_mm256_add_epi16(x[0], x[4]));
    let tmp1 = widen(_mm256_sub_epi16(x[0], x[4]));
    let (even0, even3) = (add(tmp0, tmp3), subtract(tmp0, tmp3));
    let (even1, even2) = (add(tmp1, tmp2), subtract(tmp1, tmp2));

    let z3 = _mm256_add_epi16(x[7], x[3]);
    let z4 = _mm256_add_epi16(x[5], x[1]);
    let wide3 = weigh(z3, z4, pair(F_1_175 - F_1_961, F_1_175));
    let wide4 = weigh(z3, z4, pair(F_1_175, F_1_175 - F_0_390));
    let odd0 = add(weigh(x[7], x[1], pair(F_0_298 - F_0_899, -F_0_899)), wide3);
    let odd3 = add(weigh(x[7], x[1], pair(-F_0_899, F_1_501 - F_0_899)), wide4);
    let odd1 = add(weigh(x[5], x[3], pair(F_2_053 - F_2_562, -F_2_562)), wide4);
    let odd2 = add(weigh(x[5], x[3], pair(-F_2_562, F_3_072 - F_2_562)), wide3);

    [
        narrow::<SHIFT>(add(even0, odd3)),
        narrow::<SHIFT>(add(even1, odd2)),
        narrow::<SHIFT>(add(even2, odd1)),
        narrow::<SHIFT>(add(even3, odd0)),
        narrow::<SHIFT>(subtract(even3, odd0)),
        narrow::<SHIFT>(subtract(even2, odd1)),
        narrow::<SHIFT>(subtract(even1, odd2)),
        narrow::<SHIFT>(subtract(even0, odd3)),
    ]
}

/// Rows become columns, in each half.
#[target_feature(enable = "avx2")]
fn transpose(x: [__m256i; 8]) -> [__m256i; 8] {
    let mut a = x;
    for number in 0..4 {
        a[2 * number] = _mm256_unpacklo_epi16(x[2 * number], x[2 * number + 1]);
        a[2 * number + 1] = _mm256_unpackhi_epi16(x[2 * number], x[2 * number + 1]);
    }
    // a0: 00 10 01 11 02 12 03 13, a1: 04 14 ..; a2, a3 of rows 2 and 3, and so on.
    let mut b = a;
    for half in 0..2 {
        let [p, q, r, s] = [a[4 * half], a[4 * half + 1], a[4 * half + 2], a[4 * half + 3]];
        b[4 * half] = _mm256_unpacklo_epi32(p, r);
        b[4 * half + 1] = _mm256_unpackhi_epi32(p, r);
        b[4 * half + 2] = _mm256_unpacklo_epi32(q, s);
        b[4 * half + 3] = _mm256_unpackhi_epi32(q, s);
    }
    // b0: columns 0 and 1 of rows 0 to 3; b4: of rows 4 to 7.
    let mut c = b;
    for number in 0..4 {
        c[2 * number] = _mm256_unpacklo_epi64(b[number], b[number + 4]);
        c[2 * number + 1] = _mm256_unpackhi_epi64(b[number], b[number + 4]);
    }
    c
}
