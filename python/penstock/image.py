"""Images: the public face, with the names of tf.image (and `cast`, `normalize`, `random_resized_crop`)."""

from penstock.ops.image import (
    adjust_brightness,
    central_crop,
    convert_image_dtype,
    crop_to_bounding_box,
    flip_left_right,
    normalize,
    random_brightness,
    random_crop,
    random_flip_left_right,
    random_resized_crop,
    resize,
)
from penstock.ops.math import cast

__all__ = [
    "adjust_brightness",
    "cast",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "flip_left_right",
    "normalize",
    "random_brightness",
    "random_crop",
    "random_flip_left_right",
    "random_resized_crop",
    "resize",
]
