"""The one place where rules are applied: skipped by name, timed, checked after each, failures wrapped with the name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.errors import InvalidArgumentError, RuleError
from penstock.graph.check import check_graph
from penstock.graph.node import Node, Signature
from penstock.graph.nodes import Filter, Map, TakeWhile
from penstock.graph.walk import rebuild
from penstock.optimize.order import ONCE, RULE_NAMES, UNTIL_STABLE
from penstock.optimize.programs import PROGRAM_RULE_NAMES
from penstock.optimize.rule import Rule, Step

_ROUNDS = 1000


def optimize(root: Node, skip: frozenset[str], clock: Callable[[], float]) -> tuple[Node, list[Step]]:
    """The graph after all rules but those in `skip`, and what each did.

    Raises: RuleError when a rule fails or changes cardinality or spec; InvalidArgumentError for an unknown rule name.
    """
    unknown = sorted(skip.difference(RULE_NAMES))
    if unknown:
        raise InvalidArgumentError("Options: skip_rules", got=unknown, expected=f"names among {list(RULE_NAMES)}")
    without = skip.intersection(PROGRAM_RULE_NAMES)
    if without:
        root = rebuild(root, lambda node, _: _told(node, without))
    steps: list[Step] = []
    for _ in range(_ROUNDS):
        before = root
        for rule in UNTIL_STABLE:
            root = _apply(rule, root, skip, steps, clock)
        if root is before:
            break
    for rule in ONCE:
        root = _apply(rule, root, skip, steps, clock)
    return root, steps


def _told(node: Node, without: frozenset[str]) -> Node:
    """Functions become programs as they run: their nodes carry which rules are left out then."""
    return replace(node, without=without) if isinstance(node, Map | Filter | TakeWhile) else node


def _apply(rule: Rule, root: Node, skip: frozenset[str], steps: list[Step], clock: Callable[[], float]) -> Node:
    if rule.name in skip:
        return root
    began = clock()
    try:
        after = rebuild(root, rule.rewrite)
        if after is root:
            return root
        check_graph(after)
    except Exception as error:
        raise RuleError(
            f"rule {rule.name!r} failed: {error}", remedy=f'Options(skip_rules={{"{rule.name}"}}) runs without it'
        ) from error
    if after.cardinality() != root.cardinality() or not _is_kept(root.signature(), after.signature()):
        raise RuleError(
            f"rule {rule.name!r} changed what the pipeline gives",
            got=f"{after.cardinality()} x {after.signature()}",
            expected=f"{root.cardinality()} x {root.signature()}",
            remedy=f'Options(skip_rules={{"{rule.name}"}}) runs without it',
        )
    steps.append(Step(rule.name, root, after, clock() - began))
    return after


def _is_kept(promised: Signature | None, after: Signature | None) -> bool:
    """Whether what was promised still is; a rule may know more, such as a dimension that a function hid."""
    if promised is None:
        return True
    if after is None:
        return False
    return promised.structure == after.structure and all(
        before == spec or (before.is_compatible_with(spec) and before.shape in (None, before.merge(spec).shape))
        for before, spec in zip(promised.specs, after.specs, strict=True)
    )
