"""What rules on programs share: steps in another order or number, with every reference to them moved along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.ops.program import Program, Ref, Step, substitute


def renumbered(program: Program, order: Sequence[int]) -> Program:
    """The program with the steps of these numbers alone, in this order. No kept step may read one that is gone."""
    moved = {program.inputs + old: program.inputs + new for new, old in enumerate(order)}
    return _rewritten(program, order, lambda ref: ref if ref.index < program.inputs else Ref(moved[ref.index]))


def swapped(program: Program, first: int, second: int) -> Program:
    """The program where step `second`, which alone reads step `first`, comes before it: each reads what the other read.

    Both have what they read as their first argument.
    """
    source = program.steps[first].args[0]
    ahead, behind = Ref(program.inputs + first), Ref(program.inputs + second)
    # Step numbers stay: `second` now makes what `first` reads, and who read `second` reads `first`.
    steps = [
        replace(
            step,
            args=substitute(step.args, lambda ref: ahead if ref == behind else ref),
            kwargs=tuple((name, substitute(v, lambda ref: ahead if ref == behind else ref)) for name, v in step.kwargs),
        )
        for step in program.steps
    ]
    steps[second] = replace(program.steps[second], args=(source, *program.steps[second].args[1:]))
    steps[second] = replace(steps[second], dtype=dtype_of(program, source))
    steps[first] = replace(program.steps[first], args=(behind, *program.steps[first].args[1:]))
    outputs = substitute(program.outputs, lambda ref: ahead if ref == behind else ref)
    order = [number for number in range(len(steps)) if number != first]
    order.insert(order.index(second) + 1, first)
    return renumbered(replace(program, steps=tuple(steps), outputs=outputs), order)


def only_reader(program: Program, number: int) -> int | None:
    """The one step that reads the result of step `number`, once, as its first argument; None otherwise."""
    index = program.inputs + number
    if any(isinstance(output, Ref) and output.index == index for output in program.outputs):
        return None
    readers = [other for other, step in enumerate(program.steps) if index in step.references()]
    if len(readers) != 1:
        return None
    reader = program.steps[readers[0]]
    rest = replace(reader, args=reader.args[1:])
    return readers[0] if reader.reads_first(index) and index not in rest.references() else None


def dtype_of(program: Program, source: object) -> str:
    """The dtype of what a step reads, "" where it is not known."""
    if not isinstance(source, Ref):
        return ""
    if source.index >= program.inputs:
        return program.steps[source.index - program.inputs].dtype
    return program.dtypes[source.index] if program.dtypes else ""


def _rewritten(program: Program, order: Sequence[int], move: Callable[[Ref], Ref]) -> Program:
    steps: list[Step] = []
    for number in order:
        step = program.steps[number]
        kwargs = tuple((name, substitute(value, move)) for name, value in step.kwargs)
        steps.append(replace(step, args=substitute(step.args, move), kwargs=kwargs))
    return replace(program, steps=tuple(steps), outputs=substitute(program.outputs, move))
