"""Two stations with a buffer between: how much of the slower one's speed is left when both vary."""

from __future__ import annotations

import math


def through(supply: float, demand: float, ahead: float, spread: float) -> float:
    """Batches/s that get through when a producer of `supply` and a consumer of `demand` batches/s share a buffer.

    ahead: batches the buffer holds. spread: squared coefficients of variation of their times, added up. With none of it
    the slower one decides; with no buffer and no overlap it would be 1 / (1/supply + 1/demand).
    Source: throughput of the M/M/1/K queue, r = supply / demand: supply (1 - r^K) / (1 - r^(K+1)), K = ahead + 1; times
    that vary otherwise than exponentially act like a buffer 2 / spread as large (diffusion approximation: H. Kobayashi,
    "Application of the Diffusion Approximation to Queueing Networks", J. ACM 21(2), 1974).
    """
    slower = min(supply, demand)
    if slower <= 0 or spread <= 0 or math.isinf(max(supply, demand)):
        return slower
    size = (ahead + 1) * 2 / spread
    log_r = math.log(supply / demand)
    if abs(log_r) * size > 50:  # one is so much slower that the other's variation is all absorbed
        return slower
    if abs(log_r) < 1e-9:
        return slower * size / (size + 1)
    return supply * math.expm1(size * log_r) / math.expm1((size + 1) * log_r)
