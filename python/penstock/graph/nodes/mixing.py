"""Several datasets taken by turns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature
from penstock.graph.proportions import mixed_length


def joint_signature(inputs: tuple[Node, ...]) -> Signature | None:
    """What elements of any of these look like, as far as it is known."""
    known = [signature for node in inputs if (signature := node.signature()) is not None]
    if not known:
        return None
    joint = known[0]
    for other in known[1:]:
        joint = Signature(joint.structure, tuple(a.merge(b) for a, b in zip(joint.specs, other.specs, strict=True)))
    return joint


@dataclass(frozen=True, kw_only=True, eq=False)
class Directed(Node):
    """Base: each element comes from the input that the next choice names.

    `stops`: the first choice of an input that has no more ends all; else such choices are passed over. With
    `directed`, the last input gives the choices.
    """

    stops: bool
    directed: bool = False

    @property
    def data(self) -> tuple[Node, ...]:
        """The inputs that elements come from."""
        return self.inputs[:-1] if self.directed else self.inputs

    def cardinality(self) -> int:
        counts = [node.cardinality() for node in self.data]
        some_end = any(count != INFINITE for count in counts)
        if self.directed and self.inputs[-1].cardinality() != INFINITE:
            return 0 if self.inputs[-1].cardinality() == 0 else UNKNOWN
        if all(count == 0 for count in counts):
            return 0
        return UNKNOWN if some_end and (self.stops or INFINITE not in counts) else INFINITE

    def signature(self) -> Signature | None:
        return joint_signature(self.data)

    def index_obstacle(self) -> str | None:
        return "takes by turns, so positions are not known"

    def parameters(self) -> dict[str, Any]:
        return {"stop_on_empty_dataset": self.stops}


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample(Directed):
    """Each element from an input drawn at random: by `weights`, or (None, `directed`) by those the last input gives."""

    weights: tuple[float, ...] | None
    seed: int | None
    rerandomizes: bool
    verb: ClassVar[str] = "sample_from_datasets"

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "weights": self.weights, "seed": self.seed, "rerandomizes": self.rerandomizes}


@dataclass(frozen=True, kw_only=True, eq=False)
class Choose(Directed):
    """Each element from the input whose number the last input gives."""

    directed: bool = True
    verb: ClassVar[str] = "choose_from_datasets"


@dataclass(frozen=True, kw_only=True, eq=False)
class Mix(Node):
    """Elements of the inputs in fixed proportions, evenly spread, each once; ends when one that is wanted has none."""

    proportions: tuple[int, ...]
    verb: ClassVar[str] = "mix"

    @cached_property
    def _length(self) -> int:
        lengths = [node.cardinality() for node in self.inputs]
        return UNKNOWN if UNKNOWN in lengths else mixed_length(lengths, self.proportions)

    def cardinality(self) -> int:
        return self._length

    def signature(self) -> Signature | None:
        return joint_signature(self.inputs)

    def parameters(self) -> dict[str, Any]:
        return {"proportions": self.proportions}
