"""How a mixture spreads its inputs: which one gives element k, and which of its elements that is.

Law: among the first n elements, input i has its share of n to within one, for any n; nothing is drawn and nothing is
kept, so any element can be found alone. The split is nested: the first input takes its share of all, the second its
share of what is left, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]

_LARGEST_TOTAL = 2**30  # so that a product of two stays within int64


def as_proportions(weights: Sequence[float]) -> tuple[int, ...]:
    """Weights (finite, not negative, not all zero) as integers of the same ratios.

    Exact where the weights as written (0.3 is 3 / 10) have a common denominator below 2**30, else to within 1e-9.
    """
    exact = [Fraction(repr(float(weight))) for weight in weights]
    scale = lcm(*(part.denominator for part in exact))
    whole = [int(part * scale) for part in exact]
    divisor = gcd(*whole)
    whole = [part // divisor for part in whole]
    if sum(whole) > _LARGEST_TOTAL:
        total = sum(exact)
        whole = [max(int(part > 0), round(part / total * _LARGEST_TOTAL)) for part in exact]
    return tuple(whole)


def counts_before(positions: Positions, proportions: Sequence[int]) -> list[Positions]:
    """How many elements of each input stand before each of these places of the mixture.

    Shapes: positions [n] int64; one [n] int64 an input.
    """
    remaining = sum(proportions)
    turns, rest = np.divmod(positions, remaining)
    counts = []
    for share in proportions[:-1]:
        beyond = rest * (remaining - share) // remaining if remaining else rest
        counts.append(turns * share + rest - beyond)
        rest, remaining = beyond, remaining - share
    return [*counts, turns * proportions[-1] + rest]


def mixed(positions: Positions, proportions: Sequence[int]) -> tuple[Positions, Positions]:
    """(input, place within it) of the elements at these places of the mixture, both [n] int64."""
    before, after = counts_before(positions, proportions), counts_before(positions + 1, proportions)
    source = np.zeros(len(positions), dtype=np.int64)
    within = np.zeros(len(positions), dtype=np.int64)
    for number, (first, last) in enumerate(zip(before, after, strict=True)):
        chosen = last > first
        source[chosen] = number
        within[chosen] = first[chosen]
    return source, within


def mixed_length(lengths: Sequence[int], proportions: Sequence[int]) -> int:
    """Elements of the mixture of inputs of these lengths, until one that is wanted has no more; -1 for endless."""
    ends = [_last_place(length, proportions, i) for i, length in enumerate(lengths) if length >= 0 and proportions[i]]
    return min(ends, default=-1)


def _last_place(length: int, proportions: Sequence[int], number: int) -> int:
    """The most places of which input `number` fills at most `length`."""
    low, high = 0, (length // proportions[number] + 1) * sum(proportions)
    while low < high:
        middle = (low + high + 1) // 2
        taken = int(counts_before(np.array([middle]), proportions)[number][0])
        low, high = (middle, high) if taken <= length else (low, middle - 1)
    return low
