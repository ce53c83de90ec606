//! FarmHash's Fingerprint64, which never changes: what tf.strings.to_hash_bucket_fast and tf.data's tables hash by.
//!
//! Source: google/farmhash `src/farmhash.cc`, namespace farmhashna, Hash64 (MIT). Written anew, as the crates of it have
//! had no release since 2016.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

fn fetch64(text: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(text[at..at + 8].try_into().expect("eight bytes"))
}

fn fetch32(text: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(text[at..at + 4].try_into().expect("four bytes")))
}

fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn mix(u: u64, v: u64, multiplier: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(multiplier));
    shift_mix((v ^ a).wrapping_mul(multiplier)).wrapping_mul(multiplier)
}

/// The fingerprint of `text`.
pub fn fingerprint64(text: &[u8]) -> u64 {
    match text.len() {
        0..=16 => up_to_16(text),
        17..=32 => up_to_32(text),
        33..=64 => up_to_64(text),
        _ => longer(text),
    }
}

fn up_to_16(text: &[u8]) -> u64 {
    let length = text.len();
    let multiplier = K2.wrapping_add(length as u64 * 2);
    if length >= 8 {
        let a = fetch64(text, 0).wrapping_add(K2);
        let b = fetch64(text, length - 8);
        let c = b.rotate_right(37).wrapping_mul(multiplier).wrapping_add(a);
        let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(multiplier);
        return mix(c, d, multiplier);
    }
    if length >= 4 {
        return mix((length as u64).wrapping_add(fetch32(text, 0) << 3), fetch32(text, length - 4), multiplier);
    }
    if length == 0 {
        return K2;
    }
    let y = u64::from(text[0]) + (u64::from(text[length >> 1]) << 8);
    let z = length as u64 + (u64::from(text[length - 1]) << 2);
    shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
}

fn up_to_32(text: &[u8]) -> u64 {
    let length = text.len();
    let multiplier = K2.wrapping_add(length as u64 * 2);
    let a = fetch64(text, 0).wrapping_mul(K1);
    let b = fetch64(text, 8);
    let c = fetch64(text, length - 8).wrapping_mul(multiplier);
    let d = fetch64(text, length - 16).wrapping_mul(K2);
    let u = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    mix(u, a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c), multiplier)
}

fn up_to_64(text: &[u8]) -> u64 {
    let length = text.len();
    let multiplier = K2.wrapping_add(length as u64 * 2);
    let a = fetch64(text, 0).wrapping_mul(K2);
    let b = fetch64(text, 8);
    let c = fetch64(text, length - 8).wrapping_mul(multiplier);
    let d = fetch64(text, length - 16).wrapping_mul(K2);
    let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let z = mix(y, a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c), multiplier);
    let e = fetch64(text, 16).wrapping_mul(multiplier);
    let f = fetch64(text, 24);
    let g = y.wrapping_add(fetch64(text, length - 32)).wrapping_mul(multiplier);
    let h = z.wrapping_add(fetch64(text, length - 24)).wrapping_mul(multiplier);
    let u = e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h);
    mix(u, e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g), multiplier)
}

fn weak32(text: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let [w, x, y, z] = [0, 8, 16, 24].map(|step| fetch64(text, at + step));
    let a = a.wrapping_add(w);
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let c = a;
    let a = a.wrapping_add(x).wrapping_add(y);
    (a.wrapping_add(z), b.wrapping_add(a.rotate_right(44)).wrapping_add(c))
}

fn longer(text: &[u8]) -> u64 {
    let length = text.len();
    let mut x: u64 = 81;
    let mut y = x.wrapping_mul(K1).wrapping_add(113);
    let mut z = shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let (mut v, mut w) = ((0u64, 0u64), (0u64, 0u64));
    x = x.wrapping_mul(K2).wrapping_add(fetch64(text, 0));
    let end = (length - 1) / 64 * 64;
    for at in (0..end).step_by(64) {
        x = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(fetch64(text, at + 8)).rotate_right(37).wrapping_mul(K1);
        y = y.wrapping_add(v.1).wrapping_add(fetch64(text, at + 48)).rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y = y.wrapping_add(v.0).wrapping_add(fetch64(text, at + 40));
        z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(K1);
        v = weak32(text, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak32(text, at + 32, z.wrapping_add(w.1), y.wrapping_add(fetch64(text, at + 16)));
        std::mem::swap(&mut z, &mut x);
    }
    let multiplier = K1.wrapping_add((z & 0xff) << 1);
    let at = length - 64;
    w.0 = w.0.wrapping_add(((length - 1) & 63) as u64);
    v.0 = v.0.wrapping_add(w.0);
    w.0 = w.0.wrapping_add(v.0);
    x = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(fetch64(text, at + 8)).rotate_right(37);
    x = x.wrapping_mul(multiplier);
    y = y.wrapping_add(v.1).wrapping_add(fetch64(text, at + 48)).rotate_right(42).wrapping_mul(multiplier);
    x ^= w.1.wrapping_mul(9);
    y = y.wrapping_add(v.0.wrapping_mul(9)).wrapping_add(fetch64(text, at + 40));
    z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(multiplier);
    v = weak32(text, at, v.1.wrapping_mul(multiplier), x.wrapping_add(w.0));
    w = weak32(text, at + 32, z.wrapping_add(w.1), y.wrapping_add(fetch64(text, at + 16)));
    std::mem::swap(&mut z, &mut x);
    let first = mix(v.0, w.0, multiplier).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z);
    mix(first, mix(v.1, w.1, multiplier).wrapping_add(x), multiplier)
}
