"""The image part of a program becomes one step: only the region that is needed is decoded, nothing lies between.

It starts at a decoder, also decode_and_crop_jpeg of one window for all (at read_file, where nothing else needs the
bytes), and takes in what follows one after another: at most one crop, a resize, then steps on single pixels, a cast, a
transpose to channels first. It ends where a value is used twice, is a result, or an op is not known to the kernel; and
it needs a size that all results share. The fused step gives the same bytes as the steps it replaces, except where
fidelity="fast" lets it decode a region smaller than stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.ops.fused import Adjustment, FusedImages, Region
from penstock.ops.io import FIDELITIES
from penstock.ops.program import Draw, Program, Ref, Step, substitute

FUSED = "fused.images"
_DECODERS = {  # the format and the names of the first arguments
    "io.decode_jpeg": ("jpeg", ("channels",)),
    "codecs.decode_and_crop_jpeg": ("jpeg", ("crop_window", "channels")),
    "io.decode_png": ("png", ("channels", "dtype")),
    "codecs.decode_image": ("any", ("channels", "dtype")),
}
_ARITHMETIC = {"np.multiply": "multiply", "np.add": "add", "np.subtract": "subtract", "np.divide": "divide"}


def fuse_images(program: Program) -> Program:
    """The program with every image part fused; the same object when it has none."""
    starts = [number for number, step in enumerate(program.steps) if step.op in _DECODERS]
    for start in reversed(starts):  # later ones first: the places of earlier steps do not move
        program = _fuse_at(program, start)
    return program


def exact(program: Program) -> Program:
    """The program without leave to decode faster than exactly; the same object when it has none."""
    if not any(step.op == FUSED and step.args[1].is_fast for step in program.steps):
        return program
    steps = tuple(
        replace(step, args=(step.args[0], replace(step.args[1], is_fast=False))) if step.op == FUSED else step
        for step in program.steps
    )
    return replace(program, steps=steps)


@dataclass(slots=True)
class _Chain:
    """What has been taken in so far. `kind`: uint8 or float32, of the pixels; `taken`: the steps, in order."""

    source: Ref
    reads: bool
    file_format: str
    channels: int
    options: tuple[bool, bool, bool]
    taken: list[int]
    region: Region | None = None
    size: tuple[int, int] | None = None
    resizes: bool = False
    antialias: bool = False
    adjustments: tuple[Adjustment, ...] = ()
    kind: str = "uint8"
    dtype: str | None = None
    channels_first: bool = False

    def adjusted(self, name: str, *args: Any, draw: Draw | None = None) -> bool:
        self.adjustments += (Adjustment(name, args, draw),)
        return True


def _fuse_at(program: Program, start: int) -> Program:
    chain = _start(program, start)
    if chain is None:
        return program
    current, best = start, None
    while True:
        if chain.size is not None:
            best = replace(chain, taken=list(chain.taken))
        following = _only_use(program, current)
        if following is None or chain.dtype is not None or chain.channels_first:
            break
        step = program.steps[following]
        take = _TAKE.get(step.op)
        if take is None or not step.reads_first(program.inputs + current) or not take(step, chain):
            break
        chain.taken.append(following)
        current = following
    if chain.size is not None:
        best = chain
    return program if best is None or best.taken[-1] == start else _replaced(program, best)


def _start(program: Program, start: int) -> _Chain | None:
    step = program.steps[start]
    source = step.args[0]
    file_format, names = _DECODERS[step.op]
    given = _arguments(
        step, *names, "fidelity", "allow_truncated", "apply_exif_orientation",
        channels=0, dtype="uint8", fidelity="exact", allow_truncated=False, apply_exif_orientation=False,
    )  # fmt: skip
    if given is None or not isinstance(source, Ref) or given["channels"] not in (0, 1, 3):
        return None
    if len(step.args) > 1 + len(names) or given["fidelity"] not in FIDELITIES:
        return None
    channels = given["channels"]
    # Images of several numbers of channels have no place in one batch; of a JPEG, its first bytes tell.
    if _pixel_kind(given["dtype"]) != "uint8" or (file_format != "jpeg" and not channels):
        return None
    options = given["fidelity"] == "fast", bool(given["allow_truncated"]), bool(given["apply_exif_orientation"])
    read = _read_alone(program, start, source) if channels else None
    if read is None:
        chain = _Chain(source, False, file_format, channels, options, [start])
    else:
        chain = _Chain(program.steps[read].args[0], True, file_format, channels, options, [read, start])
    if "crop_window" not in names:
        return chain
    window = given.get("crop_window")
    if not isinstance(window, tuple | list) or len(window) != 4 or not all(isinstance(side, int) for side in window):
        return None
    _boxed(chain, tuple(window))
    return chain


def _read_alone(program: Program, start: int, source: Ref) -> int | None:
    """The step that reads a whole file for step `start` alone, if `source` is the result of one."""
    number = source.index - program.inputs
    if number < 0:
        return None
    step = program.steps[number]
    reads = step.op == "io.read_file" and len(step.args) == 1 and not step.kwargs and isinstance(step.args[0], Ref)
    return number if reads and _only_use(program, number) == start else None


def _only_use(program: Program, number: int) -> int | None:
    """The one step that reads the result of step `number`, None if it is read twice or returned."""
    index = program.inputs + number
    if any(isinstance(output, Ref) and output.index == index for output in program.outputs):
        return None
    readers = [other for other, step in enumerate(program.steps) if index in step.references()]
    return readers[0] if len(readers) == 1 else None


def _replaced(program: Program, chain: _Chain) -> Program:
    """The program with the steps of `chain` gone and the fused one where the last of them was."""
    assert chain.size is not None
    fused = FusedImages(
        chain.reads, chain.file_format, chain.channels, *chain.options, chain.region, chain.size, chain.resizes,
        chain.antialias, chain.adjustments, chain.dtype or chain.kind, chain.channels_first,
    )  # fmt: skip
    last, gone = chain.taken[-1], set(chain.taken[:-1])
    kept = [number for number in range(len(program.steps)) if number not in gone]
    moved = {program.inputs + old: program.inputs + new for new, old in enumerate(kept)}

    def move(ref: Ref) -> Ref:
        return ref if ref.index < program.inputs else Ref(moved[ref.index])

    steps = []
    for number in kept:
        step = program.steps[number]
        if number == last:
            step = Step(FUSED, (chain.source, fused))
        kwargs = tuple((name, substitute(value, move)) for name, value in step.kwargs)
        steps.append(replace(step, args=substitute(step.args, move), kwargs=kwargs))
    return replace(program, steps=tuple(steps), outputs=substitute(program.outputs, move))


def _arguments(step: Step, *names: str, **defaults: Any) -> dict[str, Any] | None:
    """The constants of a call by name; None when one is a value of the program or not known."""
    given = dict(zip(names, step.args[1:], strict=False)) | dict(step.kwargs)
    if len(step.args) - 1 > len(names) or set(given) - set(names):
        return None
    values = {**defaults, **given}
    return None if any(isinstance(value, Ref) for value in values.values()) else values


# --- steps that choose and resize ------------------------------------------------------------------------------------


def _is_first(chain: _Chain) -> bool:
    return chain.region is None and chain.size is None and not chain.adjustments


def _random_resized_crop(step: Step, chain: _Chain) -> bool:
    given = _arguments(
        step, "size", "area_range", "aspect_ratio_range", "antialias",
        area_range=(0.08, 1.0), aspect_ratio_range=(3 / 4, 4 / 3), antialias=False,
    )  # fmt: skip
    if given is None or not _is_first(chain) or not _draws_first(step):
        return False
    ranges = _floats(given["area_range"]), _floats(given["aspect_ratio_range"])
    if None in ranges:
        return False
    chain.region = Region("random_resized_crop", ranges, step.draw)
    _resized(chain, given["size"], given["antialias"])
    chain.kind = "uint8"
    return chain.adjusted("round")


def _draws_first(step: Step) -> bool:
    """Whether the step draws from the beginning of a stream, as the kernel does."""
    return step.draw is not None and step.draw.position == 0


def _floats(numbers: Any) -> tuple[float, ...] | None:
    """As Python floats, if they reckon like them (a NumPy float32 does not)."""
    values = tuple(numbers)
    return tuple(map(float, values)) if all(isinstance(value, int | float) for value in values) else None


def _random_crop(step: Step, chain: _Chain) -> bool:
    given = _arguments(step, "size")
    if given is None or not _is_first(chain) or not _draws_first(step) or len(given["size"]) != 3:
        return False
    chain.region = Region("random_crop", (tuple(given["size"]),), step.draw)
    chain.size = (int(given["size"][0]), int(given["size"][1]))
    return True


def _central_crop(step: Step, chain: _Chain) -> bool:
    given = _arguments(step, "central_fraction")
    share = None if given is None else _floats((given["central_fraction"],))
    if share is None or not _is_first(chain):
        return False
    chain.region = Region("central_crop", share, None)
    return True


def _crop_to_bounding_box(step: Step, chain: _Chain) -> bool:
    names = ("offset_height", "offset_width", "target_height", "target_width")
    given = _arguments(step, *names)
    if given is None or len(given) != len(names) or not _is_first(chain):
        return False
    _boxed(chain, tuple(int(given[name]) for name in names))
    return True


def _boxed(chain: _Chain, box: tuple[int, ...]) -> None:
    chain.region = Region("crop_to_bounding_box", box, None)
    chain.size = (box[2], box[3])


def _resize(step: Step, chain: _Chain) -> bool:
    given = _arguments(
        step, "size", "method", "antialias", "preserve_aspect_ratio",
        method="bilinear", antialias=False, preserve_aspect_ratio=False,
    )  # fmt: skip
    if given is None or chain.resizes or chain.adjustments or given["method"] != "bilinear":
        return False
    if given["preserve_aspect_ratio"]:
        return False
    _resized(chain, given["size"], given["antialias"])
    return True


def _resized(chain: _Chain, size: Any, antialias: bool) -> None:
    chain.size = (int(size[0]), int(size[1]))
    chain.resizes, chain.antialias, chain.kind = True, bool(antialias), "float32"


# --- steps on pixels -------------------------------------------------------------------------------------------------


def _flip(step: Step, chain: _Chain) -> bool:
    return len(step.args) == 1 and not step.kwargs and chain.adjusted("flip_left_right", draw=step.draw)


def _brightness(step: Step, chain: _Chain) -> bool:
    name = "max_delta" if step.draw is not None else "delta"
    given = _arguments(step, name)
    return given is not None and chain.adjusted("adjust_brightness", float(given[name]), draw=step.draw)


def _contrast(step: Step, chain: _Chain) -> bool:
    return _factor(step, chain, "adjust_contrast", "contrast_factor")


def _saturation(step: Step, chain: _Chain) -> bool:
    return _factor(step, chain, "adjust_saturation", "saturation_factor")


def _hue(step: Step, chain: _Chain) -> bool:
    name, limit = ("max_delta", 0.5) if step.draw is not None else ("delta", 1.0)
    given = _arguments(step, name)
    if given is None or not -limit <= given[name] <= limit:
        return False
    return chain.adjusted("adjust_hue", float(given[name]), draw=step.draw)


def _factor(step: Step, chain: _Chain, kernel: str, name: str) -> bool:
    if step.draw is None:
        given = _arguments(step, name)
        return given is not None and chain.adjusted(kernel, float(given[name]))
    given = _arguments(step, "lower", "upper")
    return given is not None and chain.adjusted(kernel, float(given["lower"]), float(given["upper"]), draw=step.draw)


def _convert(step: Step, chain: _Chain) -> bool:
    given = _arguments(step, "dtype", "saturate", saturate=False)
    to = None if given is None else _pixel_kind(given["dtype"])
    if given is None or to is None:
        return False
    chain.kind = to
    return chain.adjusted("convert_image_dtype", to, bool(given["saturate"]))


def _cast(step: Step, chain: _Chain) -> bool:
    given = _arguments(step, "dtype")
    if given is None:
        return False
    to = _pixel_kind(given["dtype"])
    if to is not None:
        chain.kind = to
        return chain.adjusted("cast", to)
    name = given["dtype"] if isinstance(given["dtype"], str) else np.dtype(given["dtype"]).name
    if name not in ("float16", "bfloat16") or chain.kind != "float32":
        return False
    chain.dtype = name
    return True


def _pixel_kind(dtype: Any) -> str | None:
    try:
        name = np.dtype(dtype).name
    except TypeError:
        return None
    return name if name in ("uint8", "float32") else None


def _normalize(step: Step, chain: _Chain) -> bool:
    given = _arguments(step, "mean", "std")
    if given is None or len(given) != 2:
        return False
    mean, std = (np.atleast_1d(np.asarray(given[name], dtype=np.float64)) for name in ("mean", "std"))
    if mean.ndim > 1 or std.ndim > 1 or not (std > 0).all():
        return False
    if chain.kind == "uint8":
        scale, offset = np.broadcast_arrays(1.0 / (255.0 * std), -mean / std)
        chain.kind = "float32"
        return chain.adjusted("affine", tuple(scale.tolist()), tuple(offset.tolist()))
    chain.adjusted("subtract", tuple(mean.tolist()))
    return chain.adjusted("divide", tuple(std.tolist()))


def _arithmetic(step: Step, chain: _Chain) -> bool:
    """A float32 image and a Python number, or a float32 number for each channel: the only kinds that stay float32."""
    if chain.kind != "float32" or len(step.args) != 2 or step.kwargs:
        return False
    amount = step.args[1]
    if isinstance(amount, int | float) and not isinstance(amount, bool):
        return chain.adjusted(_ARITHMETIC[step.op], (float(amount),))
    if isinstance(amount, np.ndarray) and amount.dtype == np.float32 and amount.ndim == 1:
        return chain.adjusted(_ARITHMETIC[step.op], tuple(amount.tolist()))
    return False


def _transpose(step: Step, chain: _Chain) -> bool:
    axes = step.args[1:]
    if step.kwargs or (axes[0] if len(axes) == 1 else axes) not in ((2, 0, 1), [2, 0, 1]):
        return False
    chain.channels_first = True
    return True


_TAKE: dict[str, Callable[[Step, _Chain], bool]] = {
    "image.random_resized_crop": _random_resized_crop,
    "image.random_crop": _random_crop,
    "image.central_crop": _central_crop,
    "image.crop_to_bounding_box": _crop_to_bounding_box,
    "image.resize": _resize,
    "image.flip_left_right": _flip,
    "image.random_flip_left_right": _flip,
    "image.adjust_brightness": _brightness,
    "image.random_brightness": _brightness,
    "color.adjust_contrast": _contrast,
    "color.random_contrast": _contrast,
    "color.adjust_saturation": _saturation,
    "color.random_saturation": _saturation,
    "color.adjust_hue": _hue,
    "color.random_hue": _hue,
    "image.convert_image_dtype": _convert,
    "image.normalize": _normalize,
    "math.cast": _cast,
    "method.astype": _cast,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    "np.transpose": _transpose,
    "method.transpose": _transpose,
}
