"""The verb that gives each rank its part: distribute."""

from __future__ import annotations

from typing import Any, Self

from penstock.adapters.world import World, detect_world
from penstock.errors import InvalidArgumentError, Location, user_location, warn_user
from penstock.graph.distribution import files_of_ranks, part_of, policy_that_fits, steps_of_ranks
from penstock.graph.node import Node
from penstock.graph.nodes import Distribute, Policy, Shard
from penstock.graph.walk import collected_options, nodes_of
from penstock.options import AutoShardPolicy, require_integer
from penstock.verbs.base import Verbs


class DistributionVerbs(Verbs):
    """One dataset for many ranks."""

    def distribute(
        self, policy: str | int | AutoShardPolicy | None = None, rank: int | None = None, world_size: int | None = None
    ) -> Self:
        """This rank's part of the dataset, whose `batch` makes *global* batches.

        policy: "data": rank r receives its rows of each global batch, so that all ranks together see what one process
        would, and a state taken at one world size resumes at another. "file": every rank reads its own files (at least
        one each) in batches of its share; ranks may then receive different numbers of batches. "auto": "file" where
        there are enough files, else "data". "off": everything, for every rank. `AutoShardPolicy` is accepted too.
        Default: what `Options.experimental_distribute` says, else "auto".
        A dataset without `batch` is dealt out element by element, as `shard` does. A batch that the ranks do not divide
        is split as evenly as can be.
        rank, world_size: default what torch.distributed, RANK and WORLD_SIZE, TF_CONFIG or jax.distributed say.
        Cost: index-driven, none: a rank computes its own rows only. A stream is computed whole by every rank.
        Raises: InvalidArgumentError: a batch, or a last batch, with fewer rows than ranks; too few files.
        """
        where = user_location()
        said = collected_options(self._node).experimental_distribute
        default = None if said is None else said.auto_shard_policy
        named = _policy(next((word for word in (policy, default) if word is not None), "auto"), where)
        world = _world(rank, world_size, where)
        chosen: Policy = policy_that_fits(self._node, world.size) if named == "auto" else named  # type: ignore[assignment]  # `_policy` gives these names
        mine = part_of(self._node, chosen, world.rank, world.size, where)
        mine.cardinality()  # a last batch that not all ranks get a row of is told here
        part = Distribute(
            inputs=(self._node,), location=where, policy=chosen, rank=world.rank, world_size=world.size, mine=mine
        )
        if chosen == "file":
            _warn_of_unequal_parts(part, where)
        return self._of(part)


def _policy(value: Any, where: Location) -> str:
    names = [policy.name.lower() for policy in AutoShardPolicy]
    if isinstance(value, str) and value.lower() in names:
        return value.lower()
    number = getattr(value, "value", value)  # of tf.data's own enum
    if isinstance(number, int) and not isinstance(number, bool) and number in set(AutoShardPolicy):
        return AutoShardPolicy(number).name.lower()
    raise InvalidArgumentError("distribute: policy", got=repr(value), expected=f"one of {names}", where=where)


def _world(rank: int | None, world_size: int | None, where: Location) -> World:
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError(
            "distribute: one of rank and world_size", got=f"rank={rank}, world_size={world_size}",
            expected="both, or neither", where=where,
        )  # fmt: skip
    if rank is None or world_size is None:
        return detect_world()
    size = require_integer("distribute", "world_size", world_size, minimum=1, where=where) or 1
    number = require_integer("distribute", "rank", rank, minimum=0, where=where) or 0
    if number >= size:
        raise InvalidArgumentError("distribute: rank", got=number, expected=f"below world_size={size}", where=where)
    return World(number, size, "arguments")


def _warn_of_unequal_parts(part: Distribute, where: Location) -> None:
    """Of files that do not come out even: ranks that wait for each other at every step must make equally many."""
    counts, unit = steps_of_ranks(part), "elements"
    if counts is None:
        counts, unit = files_of_ranks(part.input, part.world_size), "files"
    if len(set(counts)) > 1:
        said = ", ".join(map(str, counts))
        warn_user(
            f'distribute: by "file", ranks receive unequal parts: {said} {unit}; to_keras() under tf.distribute evens '
            'that out; elsewhere policy="data" does, or repeat() and counting steps', where,
        )  # fmt: skip


def require_own_part(node: Node, where: Location) -> None:
    """Raises: InvalidArgumentError: this process is one of several, and each would train on everything."""
    world = detect_world()
    if world.size > 1 and not any(isinstance(step, Distribute | Shard) for step in nodes_of(node)):
        raise InvalidArgumentError(
            "one of several ranks, and nothing says which part of the dataset is its own",
            got=f"rank {world.rank} of {world.size} ({world.source})", where=where,
            remedy='ds.distribute() gives each rank its rows of every global batch; ds.distribute("off") all of it',
        )  # fmt: skip
