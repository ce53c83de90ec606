"""Files and codecs: the public face, with the names of tf.io."""

from penstock.ops.io import decode_jpeg, decode_png, read_file

__all__ = ["decode_jpeg", "decode_png", "read_file"]
