//! `penstock._native`: converts arguments and errors and releases the GIL; all work is in `penstock-kernels`.

mod codec;
mod example;
mod fused;
mod gather;
mod pack;
mod packed;
mod pieces;
mod pixels;
mod random;
mod record;
mod stream;
mod text;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::codec::{
        decode_bitmap, decode_jpeg, decode_jpeg_region, decode_png_u16, decode_png_u8, encode_jpeg, encode_png,
        read_file, read_totals,
    };
    #[pymodule_export]
    use crate::example::{parse_examples, parse_sequence_examples, serialize_example, ExampleSchema};
    #[pymodule_export]
    use crate::fused::{fused_images, fused_pixels, jpeg_shapes};
    #[pymodule_export]
    use crate::gather::{gather_parts, gather_rows, gather_windows};
    #[pymodule_export]
    use crate::pack::{assign_bins, mark_segments, pad_spans, place_rows, place_spans};
    #[pymodule_export]
    use crate::packed::{gather_packed, packed_objects};
    #[pymodule_export]
    use crate::pieces::FileReader;
    #[pymodule_export]
    use crate::pixels::{
        crop, flip_left_right, floats_to_bytes, map_bytes, resize_by, resize_nearest, rgb_to_grey, scale_channels,
        standardize, standardize_whole,
    };
    #[pymodule_export]
    use crate::random::{permute, permute_range, philox, philox_words};
    #[pymodule_export]
    use crate::record::{
        frame_record, gather_records, masked_crc, read_records, record_bounds, scan_records, skip_records,
    };
    #[pymodule_export]
    use crate::stream::copy_streamed;
    #[pymodule_export]
    use crate::text::{text_rows, TextPattern, WordTable};

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "a dunder of the Python module")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
