"""Blocks of several inputs put back in the order that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from penstock.block.block import Block, concat_blocks
from penstock.block.columns import Indices
from penstock.block.origin import NOWHERE, Origins, concat_origins
from penstock.engine.operators.functions import empty_block


def interleave_origins(parts: Sequence[tuple[Indices, Origins]]) -> Origins:
    """Origins put back in order: origin i of a part is place places[i] of the result."""
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([places for places, _ in parts]))
    return concat_origins([origins for _, origins in parts]).take(order)


def interleave_blocks(parts: Sequence[tuple[Indices, Block]], positions: Indices) -> Block:
    """Blocks put back in order: row i of a part is row places[i] of the result. Ends at the first place that failed."""
    if not parts:
        return empty_block(NOWHERE)
    if len(parts) == 1:
        return parts[0][1]
    stop, failure = len(positions), None
    for places, block in parts:
        if block.failure is not None and (end := int(places[len(block)]) if len(block) < len(places) else stop) < stop:
            stop, failure = end, block.failure
    if all(_ascends(places) for places, _ in parts) and _one_after_another([places for places, _ in parts]):
        return concat_blocks([block for _, block in parts])
    kept = [(places[places < stop], block.slice(0, int((places < stop).sum()))) for places, block in parts]
    kept = [(places, block) for places, block in kept if len(places)]
    if not kept:
        return empty_block(NOWHERE, failure)
    joined = concat_blocks([Block(b.structure, b.columns, b.origins) for _, b in kept])
    order = np.argsort(np.concatenate([places for places, _ in kept]))
    block = joined.take(order)
    return Block(block.structure, block.columns, block.origins, failure)


def _ascends(places: Indices) -> bool:
    return bool((np.diff(places) > 0).all())


def _one_after_another(places: Sequence[Indices]) -> bool:
    return all(int(a[-1]) < int(b[0]) for a, b in pairwise(places))
