"""Every op and its traits: the one table that tracing, purity analysis and the tests look things up in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.ops import (
    codecs,
    color,
    examples,
    geometry,
    image,
    io,
    math,
    mixing,
    quality,
    rand_augment,
    serializing,
    text,
    words,
)
from penstock.ops.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature


@dataclass(frozen=True, slots=True)
class OpTraits:
    """What the engine may assume of an op.

    random: draws from the element's stream. io_bound: waits more than it computes. holds_gil: threads do not help.
    pure: the result depends on arguments and stream alone, so it may run anywhere, in any order. draws_as_needed: how
    often it draws depends on what it draws, so nothing can be drawn at a known place behind it.
    """

    random: bool = False
    io_bound: bool = False
    holds_gil: bool = False
    pure: bool = True
    draws_as_needed: bool = False


OPS: dict[Callable[..., Any], OpTraits] = {
    io.read_file: OpTraits(io_bound=True),
    io.decode_jpeg: OpTraits(),
    io.decode_png: OpTraits(),
    codecs.decode_image: OpTraits(),
    codecs.decode_and_crop_jpeg: OpTraits(),
    codecs.extract_jpeg_shape: OpTraits(),
    codecs.encode_jpeg: OpTraits(),
    codecs.encode_png: OpTraits(),
    image.resize: OpTraits(),
    image.flip_left_right: OpTraits(),
    image.random_flip_left_right: OpTraits(random=True),
    image.adjust_brightness: OpTraits(),
    image.random_brightness: OpTraits(random=True),
    image.convert_image_dtype: OpTraits(),
    image.central_crop: OpTraits(),
    image.crop_to_bounding_box: OpTraits(),
    image.random_crop: OpTraits(random=True),
    image.random_resized_crop: OpTraits(random=True, draws_as_needed=True),
    image.normalize: OpTraits(),
    color.adjust_contrast: OpTraits(),
    color.random_contrast: OpTraits(random=True),
    color.adjust_saturation: OpTraits(),
    color.random_saturation: OpTraits(random=True),
    color.adjust_hue: OpTraits(),
    color.random_hue: OpTraits(random=True),
    color.adjust_gamma: OpTraits(),
    color.rgb_to_grayscale: OpTraits(),
    color.grayscale_to_rgb: OpTraits(),
    color.per_image_standardization: OpTraits(),
    geometry.flip_up_down: OpTraits(),
    geometry.random_flip_up_down: OpTraits(random=True),
    geometry.rot90: OpTraits(),
    geometry.transpose: OpTraits(),
    geometry.pad_to_bounding_box: OpTraits(),
    geometry.resize_with_pad: OpTraits(),
    geometry.resize_with_crop_or_pad: OpTraits(),
    geometry.cutout: OpTraits(),
    geometry.random_cutout: OpTraits(random=True),
    mixing.mixup: OpTraits(random=True, draws_as_needed=True),
    mixing.cutmix: OpTraits(random=True, draws_as_needed=True),
    quality.adjust_jpeg_quality: OpTraits(),
    quality.random_jpeg_quality: OpTraits(random=True),
    rand_augment.rand_augment: OpTraits(random=True),
    examples.parse_example: OpTraits(),
    examples.parse_single_example: OpTraits(),
    examples.parse_sequence_example: OpTraits(),
    examples.parse_single_sequence_example: OpTraits(),
    serializing.serialize_example: OpTraits(),
    serializing.serialize_sequence_example: OpTraits(),
    io.decode_raw: OpTraits(),
    math.cast: OpTraits(),
    math.gather: OpTraits(),
    math.one_hot: OpTraits(),
    text.lower: OpTraits(),
    text.upper: OpTraits(),
    text.strip: OpTraits(),
    text.regex_replace: OpTraits(),
    text.split: OpTraits(),
    text.join: OpTraits(),
    text.length: OpTraits(),
    words.remove_stop_words: OpTraits(),
    words.ngrams: OpTraits(),
    words.lookup: OpTraits(),
    words.hash_bucket: OpTraits(),
    words.pad: OpTraits(),
    words.tokenize: OpTraits(),
}

DATA: tuple[type, ...] = (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature)
"""Plain values that never change: functions may make them, and hold them, and stay pure."""
