"""A program as a function: what a saved pipeline calls in the place of the code it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.collate import leaf_spec
from penstock.block.spec import Spec, render_spec
from penstock.block.tree import Structure, structure_of
from penstock.errors import StructureError
from penstock.ops.program import Draw, Program, Step, Traced, parts_of, recording, replaced, substitute
from penstock.rng import draw_at
from penstock.trace.compute import compute_of
from penstock.trace.tape import Tape
from penstock.trace.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class ProgramFunction:
    """Calls `program` on one element, as the function it was traced from would be called.

    structure: of the elements it takes. specs: of their leaves; a shape where all elements had one when it was traced.
    takes_rng: the last argument is the element's stream. name: of the function it was made from.
    """

    program: Program
    structure: Structure
    specs: tuple[Spec, ...]
    takes_rng: bool
    name: str

    def __call__(self, *arguments: Any) -> Any:
        """Raises: StructureError: an element of another structure, dtype or shape than it was traced for."""
        if self.takes_rng:
            arguments = arguments[:-1]  # draws are made where they were recorded, in the stream of the element
        leaves = self.leaves_of(self._element(arguments) if self.is_splat else arguments[0])
        tape = next((leaf.tape for leaf in leaves if isinstance(leaf, Value)), None)
        values: list[Any] = list(leaves)
        for step in self.program.steps:
            values.append(_item(step.args, values) if step.op == "item" else _computed(step, values, tape))
        return self.program.structure.unflatten(substitute(self.program.outputs, lambda ref: values[ref.index]))

    def _element(self, arguments: tuple[Any, ...]) -> Any:
        keys = self.structure.keys
        if len(arguments) != len(keys):
            raise self._differs(str(structure_of(arguments)))
        return arguments if self.structure.kind is tuple else self.structure.kind(*arguments)  # type: ignore[misc]  # a named tuple

    @property
    def is_splat(self) -> bool:
        """Whether an element's parts arrive as arguments of their own."""
        return isinstance(self.structure.kind, type) and self.structure.kind is not dict

    def leaves_of(self, element: Any) -> list[Any]:
        """The leaves of an element it was saved for. Raises: StructureError: another."""
        leaves = self.structure.flatten(element)
        for leaf, spec in zip(leaves, self.specs, strict=True):
            value = leaf.sample if isinstance(leaf, Traced) else leaf  # type: ignore[attr-defined]  # values, not streams
            if isinstance(value, bytes | str):
                fits = spec.dtype.kind == ("S" if isinstance(value, bytes) else "U")
            else:
                found = leaf_spec(np.asarray(value))
                has_dtype = found.dtype == spec.dtype or (spec.dtype.kind in "SU" and not np.size(value))
                fits = has_dtype and (spec.shape is None or found.shape == spec.shape)
            if not fits:
                raise self._differs(str(Spec(np.shape(value), np.asarray(value).dtype)))
        return leaves

    def _differs(self, got: str) -> StructureError:
        return StructureError(
            f"{self.name} was saved for other elements", got=got,
            expected=render_spec(self.structure.unflatten(self.specs)), remedy="save it anew, from elements like these",
        )  # fmt: skip


def _item(args: tuple[Any, ...], values: list[Any]) -> Any:
    source, number = args
    return parts_of(values[source.index])[number]


def _computed(step: Step, values: list[Any], tape: Tape | None) -> Any:
    """The value of a step; under trace, recorded with its place in the stream."""
    args = substitute(step.args, lambda ref: values[ref.index])
    kwargs = {name: substitute(value, lambda ref: values[ref.index]) for name, value in step.kwargs}
    if tape is None:
        with draw_at(step.draw):
            return compute_of(step)(*args, **kwargs)
    with draw_at(step.draw), recording(None):
        sample = compute_of(step)(*_samples(args), **_samples(kwargs))
    draw = None if step.draw is None else Draw(step.draw.op, step.draw.position, tape.call)
    return tape.append(step.op, args, kwargs, sample=sample, draw=draw, fixed=False)


def _samples(nest: Any) -> Any:
    return replaced(nest, Traced, lambda value: value.sample)  # type: ignore[attr-defined]  # values, not streams
