"""Files, records and codecs: the public face, with the names of tf.io."""

from penstock.formats.record_writer import TFRecordOptions, TFRecordWriter
from penstock.ops.codecs import decode_and_crop_jpeg, decode_image, encode_jpeg, encode_png, extract_jpeg_shape
from penstock.ops.examples import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from penstock.ops.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from penstock.ops.io import decode_jpeg, decode_png, decode_raw, read_file
from penstock.ops.serializing import serialize_example, serialize_sequence_example

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "read_file",
    "serialize_example",
    "serialize_sequence_example",
]
