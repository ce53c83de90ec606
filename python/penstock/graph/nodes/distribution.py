"""One rank's part of a dataset, and the rows of each global batch that make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from penstock.errors import InvalidArgumentError
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature

Policy = Literal["off", "file", "data"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Distribute(Node):
    """What rank `rank` of `world_size` receives of the input. `mine`: the graph that gives it, made when it is wanted.

    Under "data" all ranks together receive what one would, so a state does not say how many they were.
    """

    policy: Policy
    rank: int
    world_size: int
    mine: Node
    verb: ClassVar[str] = "distribute"

    def cardinality(self) -> int:
        return self.mine.cardinality()

    def signature(self) -> Signature | None:
        return self.mine.signature()

    def index_obstacle(self) -> str | None:
        return "has not been turned into the part of its rank"

    def becomes_indexed(self) -> bool:
        return True

    def parameters(self) -> dict[str, Any]:
        if self.policy == "file":
            return {"policy": self.policy, "rank": self.rank, "world_size": self.world_size}
        return {"policy": self.policy}


@dataclass(frozen=True, kw_only=True, eq=False)
class RankRows(Node):
    """Of every `global_batch` consecutive elements, those of one rank; of fewer at the end, its share of them.

    `drop_remainder`: none of those.
    """

    global_batch: int
    rank: int
    world_size: int
    drop_remainder: bool
    verb: ClassVar[str] = "distribute"

    def share(self, rows: int) -> tuple[int, int]:
        """From where to where its rows go in a global batch of so many."""
        return self.rank * rows // self.world_size, (self.rank + 1) * rows // self.world_size

    @property
    def local_batch(self) -> int:
        start, stop = self.share(self.global_batch)
        return stop - start

    def cardinality(self) -> int:
        count = self.input.cardinality()
        if count in (INFINITE, UNKNOWN):
            return count
        whole, rest = divmod(count, self.global_batch)
        return whole * self.local_batch + self.rest(rest)

    def rest(self, rows: int) -> int:
        """How many of the last rows, too few for a global batch, are its own.

        Raises: InvalidArgumentError: fewer than ranks, so that some would receive a batch less than others and wait
        for them for ever.
        """
        if self.drop_remainder or not rows:
            return 0
        if rows < self.world_size:
            raise InvalidArgumentError(
                "distribute: the last global batch is smaller than the number of ranks", got=f"{rows} rows",
                expected=f"at least {self.world_size}", where=self.label, remedy="batch(..., drop_remainder=True)",
            )  # fmt: skip
        start, stop = self.share(rows)
        return stop - start

    def parameters(self) -> dict[str, Any]:
        return {"global_batch": self.global_batch, "rank": self.rank, "world_size": self.world_size}
