//! BMP, GIF (its first frame) and WebP, by the `image` crate.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

use crate::exif::Orientation;
use crate::fault::{check_pixels, DecodeFault};
use crate::image::Image;
use crate::png::{convert, luma};

/// What libraries may allocate beside the pixels.
const SPARE_BYTES: u64 = 1 << 26;

/// How long a RIFF file says it is; a lossy WebP decodes without the last of its bytes.
fn riff_len(data: &[u8]) -> Option<usize> {
    let size = data.get(4..8)?.try_into().ok()?;
    (u32::from_le_bytes(size) as usize).checked_add(8)
}

/// Decode to 8 bits a channel; `channels` 1 to 4, or 0 for what is stored (of a GIF 3, of a BMP or WebP 3 or 4).
///
/// Upright, by its EXIF, if `is_oriented`: only a WebP may have one.
pub fn decode(data: &[u8], channels: usize, limit_pixels: usize, is_oriented: bool) -> Result<Image<u8>, DecodeFault> {
    let (format, name) = match data {
        [b'B', b'M', ..] => (ImageFormat::Bmp, "BMP"),
        [b'G', b'I', b'F', b'8', ..] => (ImageFormat::Gif, "GIF"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => (ImageFormat::WebP, "WebP"),
        _ => return Err(DecodeFault::not_a("BMP, GIF or WebP", data)),
    };
    if format == ImageFormat::WebP && riff_len(data).is_some_and(|len| len > data.len()) {
        return Err(DecodeFault::new(format!("truncated: premature end after {} bytes", data.len())));
    }
    let fault = |error: ImageError| match &error {
        ImageError::IoError(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => {
            DecodeFault::new(format!("truncated: premature end after {} bytes", data.len()))
        }
        _ => DecodeFault::new(format!("corrupt {name}: {error}")),
    };
    let mut reader = ImageReader::with_format(Cursor::new(data), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(limit_pixels as u64 * 8 + SPARE_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(fault)?;
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    check_pixels(width, height, limit_pixels)?;
    let exif = if is_oriented { decoder.exif_metadata().map_err(fault)? } else { None };
    let orientation = exif.as_deref().map(Orientation::from_tiff).unwrap_or_default();
    let decoded = DynamicImage::from_decoder(decoder).map_err(fault)?;
    let has_alpha = decoded.color().has_alpha();
    let wanted = match (channels, format) {
        (0, ImageFormat::Gif) => 3,
        (0, _) => 3 + usize::from(has_alpha),
        (given, _) => given,
    };
    let (pixels, stored) =
        if has_alpha { (decoded.into_rgba8().into_raw(), 4) } else { (decoded.into_rgb8().into_raw(), 3) };
    let data = convert(pixels, stored, wanted, u8::MAX, luma);
    Ok(orientation.applied(Image { data, height, width, channels: wanted }))
}
