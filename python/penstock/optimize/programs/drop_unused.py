"""Drop the steps whose results nothing reads: a decoded image that a later function drops is never decoded.

What the dropped step would have raised is not raised: a pipeline that only wants labels passes over a corrupt image.
Elements whose steps all succeed are the same. Numbers drawn stay the same too, since each step has its own place to
draw from.
"""

from __future__ import annotations

from penstock.ops.program import Program, Ref
from penstock.optimize.programs.rewriting import renumbered


def drop_unused(program: Program) -> Program:
    """The program without them; the same object when all are read."""
    wanted = {output.index for output in program.outputs if isinstance(output, Ref)}
    kept = []
    for number in reversed(range(len(program.steps))):
        if program.inputs + number in wanted:
            kept.append(number)
            wanted |= program.steps[number].references()
    return program if len(kept) == len(program.steps) else renumbered(program, kept[::-1])
