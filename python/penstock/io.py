"""Files and codecs: the public face, with the names of tf.io."""

from penstock.formats.record_writer import TFRecordOptions, TFRecordWriter
from penstock.ops.codecs import decode_and_crop_jpeg, decode_image, encode_jpeg, encode_png, extract_jpeg_shape
from penstock.ops.io import decode_jpeg, decode_png, read_file

__all__ = [
    "TFRecordOptions",
    "TFRecordWriter",
    "decode_and_crop_jpeg",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "read_file",
]
