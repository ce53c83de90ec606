"""The table of ops holds every public op, with its traits."""

import penstock
from penstock import image, io, text
from penstock.ops.registry import OPS


def test_registry_holds_every_public_op():
    public = {getattr(module, name) for module in (image, io, text) for name in module.__all__}
    functions = {thing for thing in public if not isinstance(thing, type)}  # the others are what they take or give
    assert functions | {penstock.gather, penstock.one_hot} == set(OPS)


def test_registry_marks_random_ops():
    assert {op.__name__ for op, traits in OPS.items() if traits.random} == {
        "random_flip_left_right",
        "random_brightness",
        "random_crop",
        "random_resized_crop",
        "random_contrast",
        "random_saturation",
        "random_hue",
        "random_jpeg_quality",
        "random_flip_up_down",
        "random_cutout",
        "mixup",
        "cutmix",
        "rand_augment",
    }
