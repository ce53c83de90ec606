"""What every run of one demo shares: the photographs, the sizes, the seed."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.cli.demo.photos import Photos
from penstock.errors import InvalidArgumentError

AREA_RANGE = (0.08, 1.0)
ASPECT_RATIO_RANGE = (3 / 4, 4 / 3)
WARM_UP_STEPS = 3  # compilation, first allocations: left out of every figure
MIN_STEPS = WARM_UP_STEPS + 3
MAX_WAIT_STEPS = 300  # TensorFlow's trace of more is large, and says no more


@dataclass(frozen=True, slots=True)
class Job:
    """The work, which is the same for every feed.

    Training: each photograph once per epoch, in a new order; a random region resized to a square, mirrored half the
    time, scaled to [0, 1]; full batches only. Validation: whole photographs, resized and scaled.
    """

    photos: Photos
    epochs: int
    batch_size: int
    image_size: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < MIN_STEPS:
            raise InvalidArgumentError(
                "too few steps to measure",
                got=f"{self.steps} ({len(self.photos.training)} training photographs, "
                f"batches of {self.batch_size}, {self.epochs} epochs)",
                expected=f"at least {MIN_STEPS}",
                remedy="give more photographs, a smaller --batch-size or more --epochs",
            )

    @property
    def steps_per_epoch(self) -> int:
        return len(self.photos.training) // self.batch_size

    @property
    def steps(self) -> int:
        return self.steps_per_epoch * self.epochs

    @property
    def wait_steps(self) -> int:
        """Steps at the end over which waiting is measured, and rates are not.

        TensorFlow's profiler, which alone sees its graph wait, costs the feed it looks at 15 to 40 % more CPU per image
        (tf.data iterated bare, two cores), so rates come from the steps before, and from the same steps for every feed.
        """
        return min(MAX_WAIT_STEPS, (self.steps - WARM_UP_STEPS) // 3)

    @property
    def validation_steps(self) -> int:
        return -(-len(self.photos.validation) // self.batch_size)
