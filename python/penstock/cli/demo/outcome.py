"""What one run came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """Units: images per second and seconds per step, wall clock, without warm-up; shares of 1, None where not known.

    `wait_share` of a step was spent waiting for input; `accuracy` on the validation photographs; `au`, accelerator
    utilisation: nominal compute time over wall time, as MLPerf Storage counts it.
    """

    name: str
    images_per_s: float
    step_s: float
    wait_share: float | None
    accuracy: float | None = None
    au: float | None = None
