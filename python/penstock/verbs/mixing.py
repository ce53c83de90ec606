"""Verbs that take from several datasets by turns: sample_from_datasets, choose_from_datasets, mix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from penstock.block.spec import render_spec
from penstock.errors import InvalidArgumentError, Location, user_location
from penstock.graph.node import Node
from penstock.graph.nodes import Choose, Mix, Sample
from penstock.graph.proportions import as_proportions
from penstock.options import require_integer
from penstock.verbs.base import Verbs, require_alike


class MixingVerbs(Verbs):
    """Several datasets made one, element by element."""

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Sequence[Verbs],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Self:
        """Each element from a dataset drawn at random, the next of it that has not come yet.

        weights: how likely each is drawn (any scale; None: all alike), or a dataset that gives such a list for each
        draw. stop_on_empty_dataset: end with the first that is drawn and has no more; else the rest share its draws.
        rerandomize_each_iteration=False draws the same in every epoch. The order depends on the seed alone.
        Raises: InvalidArgumentError: weights negative, all zero, or of another number; StructureError: datasets of
        different elements (both specs are given).
        """
        where = user_location()
        nodes = _require_alike("sample_from_datasets", datasets, where)
        is_directed = isinstance(weights, Verbs)
        shares = None if is_directed else _weights("sample_from_datasets", weights, len(nodes), where)
        node = Sample(
            inputs=(*nodes, weights._node) if is_directed else nodes,
            location=where,
            stops=bool(stop_on_empty_dataset),
            directed=is_directed,
            weights=shares,
            seed=require_integer("sample_from_datasets", "seed", seed, optional=True, where=where),
            rerandomizes=rerandomize_each_iteration is not False,
        )
        return cls._of(node)

    @classmethod
    def choose_from_datasets(
        cls, datasets: Sequence[Verbs], choice_dataset: Verbs, stop_on_empty_dataset: bool = True
    ) -> Self:
        """The next element of the dataset whose number `choice_dataset` gives, for each number it gives.

        Ends with the choices, and with the first that names a dataset with no more (`stop_on_empty_dataset=False`
        passes over it). Raises: as `sample_from_datasets`; while iterating, StructureError at a choice that is none.
        """
        where = user_location()
        nodes = _require_alike("choose_from_datasets", datasets, where)
        if not isinstance(choice_dataset, Verbs):
            got = repr(choice_dataset)
            raise InvalidArgumentError(
                "choose_from_datasets: choice_dataset", got=got, expected="a dataset of integers", where=where
            )
        signature = choice_dataset._node.signature()
        if signature is not None:
            first = signature.specs[0]
            if not signature.structure.is_leaf or first.shape not in ((), None) or first.dtype.kind not in "iu":
                raise InvalidArgumentError(
                    "choose_from_datasets: choice_dataset", got=render_spec(signature.tree()),
                    expected="integers, each the number of a dataset", where=where,
                )  # fmt: skip
        node = Choose(inputs=(*nodes, choice_dataset._node), location=where, stops=bool(stop_on_empty_dataset))
        return cls._of(node)

    @classmethod
    def mix(cls, datasets: Sequence[Verbs], weights: Sequence[float] | None = None) -> Self:
        """Datasets in fixed proportions, evenly spread; nothing is drawn. Each element comes at most once.

        Among the first n elements, each dataset has its share of n to within one. Over inputs with random access the
        mixture has it too: any element alone, shuffles of all of it, a resume by one number. Ends before the first
        element that is lacking: `repeat()` what is short. weights: of any scale; None: all alike; 0 leaves one out.
        Raises: as `sample_from_datasets`.
        """
        where = user_location()
        nodes = _require_alike("mix", datasets, where)
        shares = _weights("mix", weights, len(nodes), where)
        kept = [(node, share) for node, share in zip(nodes, shares, strict=True) if share]
        proportions = as_proportions([share for _, share in kept])
        return cls._of(Mix(inputs=tuple(node for node, _ in kept), location=where, proportions=proportions))


def _require_alike(verb: str, datasets: Any, where: Location) -> tuple[Node, ...]:
    """The nodes of a list of datasets whose elements are not known to differ."""
    if not isinstance(datasets, list | tuple) or not datasets or not all(isinstance(d, Verbs) for d in datasets):
        raise InvalidArgumentError(f"{verb}: datasets", got=repr(datasets), expected="a list of datasets", where=where)
    nodes = tuple(dataset._node for dataset in datasets)
    known = [(number, s) for number, node in enumerate(nodes) if (s := node.signature()) is not None]
    for number, signature in known[1:]:
        require_alike(f"{verb}: dataset {number} and dataset {known[0][0]}", known[0][1], signature, where)
    return nodes


def _weights(verb: str, weights: Any, count: int, where: Location) -> tuple[float, ...]:
    """One weight a dataset."""
    if weights is None:
        return (1.0,) * count
    expected = f"{count} numbers, one a dataset: none negative, not all 0"
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"{verb}: weights", got=repr(weights), expected=expected, where=where) from None
    if array.shape != (count,) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise InvalidArgumentError(f"{verb}: weights", got=repr(weights), expected=expected, where=where)
    return tuple(array.tolist())
