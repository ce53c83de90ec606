"""Where element i of files read in turns lies: the order of tf.data's interleave, by arithmetic.

While no file ends, turns go round, and element i is found by a division. Where one has ended they are followed one by
one: its slot is passed over once, then takes the next file. So the table is as long as there are files times slots.
Source: tensorflow/core/kernels/data/interleave_dataset_op.cc; `engine.nested.cycle` does the same with what it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


class Turns:
    """The order of `counts[f]` elements of each file f, `cycle_length` files at a time, an element in each turn."""

    def __init__(self, counts: Sequence[int], cycle_length: int) -> None:
        self._begins: list[int] = []  # the first element of each run of whole rounds
        self._offsets: list[int] = []  # its slots in the two tables
        self._files: list[int] = []
        self._firsts: list[int] = []  # the record that each gives first
        self._follow(counts, cycle_length)
        self._tables = tuple(
            np.array(table, dtype=np.int64) for table in (self._begins, self._offsets, self._files, self._firsts)
        )

    def locate(self, positions: Places) -> tuple[Places, Places]:
        """The file, and the number of the record in it, of each position."""
        begins, offsets, files, firsts = self._tables
        runs = np.searchsorted(begins, positions, side="right") - 1
        widths = np.append(offsets[1:], len(files))[runs] - offsets[runs]
        rounds, slots = np.divmod(positions - begins[runs], np.maximum(1, widths))
        at = offsets[runs] + slots
        return files[at], firsts[at] + rounds

    def _follow(self, counts: Sequence[int], cycle_length: int) -> None:
        given = [0] * len(counts)
        slots: list[int | None] = [None] * cycle_length
        place = following = position = 0

        def run(files: list[int], rounds: int) -> None:
            nonlocal position
            self._begins.append(position)
            self._offsets.append(len(self._files))
            self._files.extend(files)
            self._firsts.extend(given[file] for file in files)
            position += rounds * len(files)
            for file in files:
                given[file] += rounds

        while slots:
            turns = slots[place:] + slots[:place]
            files = [file for file in turns if file is not None]
            rounds = min((counts[file] - given[file] for file in files), default=0)
            if len(files) == len(slots) and rounds:
                run(files, rounds)
                continue
            file = slots[place]
            if file is None and following < len(counts):
                slots[place], following = following, following + 1
                continue
            if file is None:  # none is left: empty slots go
                place = sum(before is not None for before in slots[:place])
                slots = [before for before in slots if before is not None]
                place %= max(1, len(slots))
                continue
            if given[file] < counts[file]:
                run([file], 1)
            else:
                slots[place] = None
            place = (place + 1) % len(slots)
