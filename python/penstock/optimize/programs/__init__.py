"""Rules on programs: what a traced function does, done with less. One rule a file; the list and its reasons are here.

Each is a pure function from a program to a program that gives the same values for every element whose steps all
succeed. They run in this order, once, when a function is compiled; `Options(skip_rules=...)` leaves one out by name.
"""

from __future__ import annotations

from penstock.ops.program import Program
from penstock.optimize.fuse_images import fuse_images
from penstock.optimize.programs.casts_last import casts_last
from penstock.optimize.programs.drop_unused import drop_unused
from penstock.optimize.programs.fuse_texts import fuse_texts
from penstock.optimize.programs.resize_as_stored import resize_as_stored

_RULES = (
    ("drop_unused_steps", drop_unused),  # first: a step that nothing reads would keep others from being the only reader
    ("resize_as_stored", resize_as_stored),  # before casts move: a cast next to a resize goes altogether
    ("casts_last", casts_last),  # then what is left of casts and normalisation moves behind crops and flips
    ("fuse_images", fuse_images),  # late: a fused step is opaque to the others
    ("fuse_texts", fuse_texts),  # wherever among the last: no other rule looks at steps on texts
)
PROGRAM_RULE_NAMES = tuple(name for name, _ in _RULES)


def optimize_program(program: Program, without: frozenset[str] = frozenset()) -> Program:
    """The program after every rule but those in `without`."""
    for name, rule in _RULES:
        if name not in without:
            program = rule(program)
    return program
