"""The list of rules, with the reason for each one's place. The driver goes over it until nothing changes."""

from __future__ import annotations

from penstock.optimize.programs import PROGRAM_RULE_NAMES
from penstock.optimize.rule import Rule
from penstock.optimize.rules.drop_noops import DROP_NOOPS
from penstock.optimize.rules.drop_options import DROP_OPTIONS
from penstock.optimize.rules.fuse_maps import FUSE_MAPS
from penstock.optimize.rules.gather_buckets import GATHER_BUCKETS
from penstock.optimize.rules.indices_below_maps import INDICES_BELOW_MAPS
from penstock.optimize.rules.join_maps import JOIN_MAPS
from penstock.optimize.rules.limit_below_maps import LIMIT_BELOW_MAPS
from penstock.optimize.rules.shuffle_to_permutation import SHUFFLE_TO_PERMUTATION
from penstock.optimize.rules.slices_to_strides import SLICES_TO_STRIDES
from penstock.optimize.rules.slide_windows import SLIDE_WINDOWS

UNTIL_STABLE: tuple[Rule, ...] = (
    DROP_OPTIONS,  # first: the node below the last options is the root that the next rule keeps a prefetch at
    DROP_NOOPS,  # then this: what is gone cannot stand between two nodes that another rule wants adjacent
    SLICES_TO_STRIDES,  # makes take, skip and shard index-driven, which the next rule asks of its input
    SHUFFLE_TO_PERMUTATION,  # and makes shuffle so, which the one before asks: hence until nothing changes
    INDICES_BELOW_MAPS,  # once they are index nodes
)
ONCE: tuple[Rule, ...] = (
    SLIDE_WINDOWS,  # first: a window and the flat map above it are still two nodes beside each other
    GATHER_BUCKETS,  # anywhere: it looks at one node
    LIMIT_BELOW_MAPS,  # only takes over streams are left, and maps are still single nodes it can see through
    FUSE_MAPS,  # late: a fused segment is opaque to every other rule
    JOIN_MAPS,  # but this one, which looks into it
)
GRAPH_RULE_NAMES = tuple(rule.name for rule in (*UNTIL_STABLE, *ONCE))
RULE_NAMES = (*GRAPH_RULE_NAMES, *PROGRAM_RULE_NAMES)
"""All that `Options(skip_rules=...)` knows: rules on the graph, and on the programs that its functions become."""
