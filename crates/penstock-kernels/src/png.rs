//! PNG encoding, and decoding: palette, grey, alpha, 16 bits and interlacing, to the channels and depth that were asked for.
//!
//! Channels convert as in tf.io.decode_png: alpha is dropped or made opaque, grey is copied to three, colour becomes
//! BT.601 luma. 0 means what is stored: a palette is 3, or 4 if it has transparency.

use std::io::Cursor;

use png::{BitDepth, ColorType, Compression, Decoder, DeflateCompression, Encoder, Limits, Transformations};

use crate::exif::Orientation;
use crate::fault::{check_pixels, DecodeFault};
use crate::image::Image;
use crate::resize::Shape;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Decode to 8 bits a channel; of 16 stored ones the upper 8 are kept. Upright, by its EXIF, if `is_oriented`.
pub fn decode_u8(
    data: &[u8],
    channels: usize,
    limit_pixels: usize,
    is_oriented: bool,
) -> Result<Image<u8>, DecodeFault> {
    decode_u8_with(data, channels, limit_pixels, is_oriented, Vec::new())
}

/// As `decode_u8`, into the memory of `spare` where the file stores what is asked for.
pub fn decode_u8_with(
    data: &[u8],
    channels: usize,
    limit_pixels: usize,
    is_oriented: bool,
    spare: Vec<u8>,
) -> Result<Image<u8>, DecodeFault> {
    let raw = decode(data, channels, limit_pixels, spare)?;
    let orientation = if is_oriented { raw.orientation } else { Orientation::default() };
    let bytes = if raw.wide { raw.data.chunks_exact(2).map(|pair| pair[0]).collect() } else { raw.data };
    Ok(orientation.applied(Image {
        data: convert(bytes, raw.stored, raw.wanted, u8::MAX, luma),
        height: raw.height,
        width: raw.width,
        channels: raw.wanted,
    }))
}

/// Decode to 16 bits a channel; 8 stored ones are repeated (times 257).
pub fn decode_u16(
    data: &[u8],
    channels: usize,
    limit_pixels: usize,
    is_oriented: bool,
) -> Result<Image<u16>, DecodeFault> {
    let raw = decode(data, channels, limit_pixels, Vec::new())?;
    let orientation = if is_oriented { raw.orientation } else { Orientation::default() };
    let words = if raw.wide {
        raw.data.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
    } else {
        raw.data.iter().map(|&byte| u16::from(byte) * 257).collect()
    };
    Ok(orientation.applied(Image {
        data: convert(words, raw.stored, raw.wanted, u16::MAX, luma),
        height: raw.height,
        width: raw.width,
        channels: raw.wanted,
    }))
}

struct Raw {
    data: Vec<u8>,
    wide: bool,
    stored: usize,
    wanted: usize,
    height: usize,
    width: usize,
    orientation: Orientation,
}

fn decode(data: &[u8], channels: usize, limit_pixels: usize, spare: Vec<u8>) -> Result<Raw, DecodeFault> {
    if !data.starts_with(SIGNATURE) {
        return Err(DecodeFault::not_a("PNG", data));
    }
    let mut decoder = Decoder::new_with_limits(Cursor::new(data), Limits { bytes: usize::MAX });
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let fault = |error: png::DecodingError| match error {
        png::DecodingError::IoError(_) => {
            DecodeFault::new(format!("truncated: premature end after {} bytes", data.len()))
        }
        other => DecodeFault::new(format!("corrupt PNG: {other}")),
    };
    let header = decoder.read_header_info().map_err(fault)?;
    let (width, height) = (header.width as usize, header.height as usize);
    let stored_color = header.color_type;
    check_pixels(width, height, limit_pixels)?;
    let mut reader = decoder.read_info().map_err(fault)?;
    let transparent = reader.info().trns.is_some();
    let size = reader.output_buffer_size().ok_or_else(|| DecodeFault::new("too large for this machine"))?;
    let mut pixels = spare;
    pixels.resize(size, 0);
    reader.next_frame(&mut pixels).map_err(fault)?;
    reader.finish().map_err(fault)?;
    let orientation = reader.info().exif_metadata.as_deref().map(Orientation::from_tiff).unwrap_or_default();
    let (color, depth) = reader.output_color_type();
    let wanted = match (channels, stored_color) {
        (0, ColorType::Indexed) => 3 + usize::from(transparent),
        (0, color) => color.samples(),
        (given, _) => given,
    };
    let wide = depth == BitDepth::Sixteen;
    Ok(Raw { data: pixels, wide, stored: color.samples(), wanted, height, width, orientation })
}

/// Encode rows of big-endian samples, 16 bits if `wide`; `level` 0 (none) to 9 of deflate, or None for a balance.
pub fn encode(samples: &[u8], shape: Shape, wide: bool, level: Option<u8>) -> Result<Vec<u8>, DecodeFault> {
    let color = match shape.channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        other => return Err(DecodeFault::new(format!("no PNG has {other} channels"))),
    };
    let side = |side: usize| u32::try_from(side).map_err(|_| DecodeFault::new(format!("no PNG has a side of {side}")));
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, side(shape.width)?, side(shape.height)?);
    encoder.set_color(color);
    encoder.set_depth(if wide { BitDepth::Sixteen } else { BitDepth::Eight });
    match level {
        None => encoder.set_compression(Compression::Balanced),
        Some(0) => encoder.set_deflate_compression(DeflateCompression::NoCompression),
        Some(level) => encoder.set_deflate_compression(DeflateCompression::Level(level.min(9))),
    }
    let fault = |error: png::EncodingError| DecodeFault::new(format!("cannot encode a PNG: {error}"));
    let mut writer = encoder.write_header().map_err(fault)?;
    writer.write_image_data(samples).map_err(fault)?;
    writer.finish().map_err(fault)?;
    Ok(out)
}

/// Values that can be weighed and added without overflow.
pub(crate) trait Sample: Copy + Into<u32> + TryFrom<u32> {}
impl Sample for u8 {}
impl Sample for u16 {}

pub(crate) fn luma<T: Sample>(r: T, g: T, b: T) -> T {
    let [r, g, b]: [u64; 3] = [r, g, b].map(|v| u64::from(v.into()));
    let value = (19_595 * r + 38_470 * g + 7_471 * b + 32_768) >> 16;
    T::try_from(value as u32).unwrap_or_else(|_| unreachable!("a weighted mean is not above its terms"))
}

/// From `stored` channels to `wanted`, each 1 to 4.
pub(crate) fn convert<T: Copy>(
    data: Vec<T>,
    stored: usize,
    wanted: usize,
    opaque: T,
    luma: impl Fn(T, T, T) -> T,
) -> Vec<T> {
    if stored == wanted {
        return data;
    }
    let mut out = Vec::with_capacity(data.len() / stored * wanted);
    for pixel in data.chunks_exact(stored) {
        let alpha = if stored.is_multiple_of(2) { pixel[stored - 1] } else { opaque };
        let (r, g, b) = if stored > 2 { (pixel[0], pixel[1], pixel[2]) } else { (pixel[0], pixel[0], pixel[0]) };
        match wanted {
            1 | 2 => out.push(if stored > 2 { luma(r, g, b) } else { r }),
            _ => out.extend([r, g, b]),
        }
        if wanted.is_multiple_of(2) {
            out.push(alpha);
        }
    }
    out
}
