"""The data: structures of leaves, what they look like, and blocks of consecutive elements held in columns."""

from penstock.block.block import Block, Failure
from penstock.block.spec import Spec, SpecTree, as_spec
from penstock.block.tree import Structure

__all__ = ["Block", "Failure", "Spec", "SpecTree", "Structure", "as_spec"]
