"""JAX' mixed precision for loops of one's own: parameters in one dtype, arithmetic in another, results in a third.

Source: the design of DeepMind's jmp, whose names these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.train.precision.named import COMPUTE, name_of
from penstock.train.runtime import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class CastingPolicy:
    """The dtypes of a step; leaves that are not of a floating kind (labels, counts, keys) pass as they are.

    def loss_fn(params, x, y):
        logits = model(policy.cast_to_compute(params), policy.cast_to_compute(x))
        return cross_entropy(policy.cast_to_output(logits), y)

    Gradients arrive in the dtype of what was differentiated: of `params`, in `param_dtype`.
    """

    param_dtype: str
    compute_dtype: str
    output_dtype: str = "float32"

    def cast_to_param(self, tree: Any) -> Any:
        """A tree as it is stored and updated."""
        return _cast(tree, self.param_dtype)

    def cast_to_compute(self, tree: Any) -> Any:
        """A tree as layers compute with it."""
        return _cast(tree, self.compute_dtype)

    def cast_to_output(self, tree: Any) -> Any:
        """A tree as losses and metrics take it."""
        return _cast(tree, self.output_dtype)


def casting_policy(precision: Runtime | str) -> CastingPolicy:
    """The policy of a runtime, or of a name. Of "mixed_float16" scale the loss yourself: JAX has nothing that does.

    Raises: InvalidArgumentError: no such precision.
    """
    name = name_of(precision)
    return CastingPolicy(param_dtype="bfloat16" if name == "bfloat16" else "float32", compute_dtype=COMPUTE[name])


def _cast(tree: Any, dtype: str) -> Any:
    import jax
    from jax import numpy as jnp

    def cast(leaf: Any) -> Any:
        kind = getattr(leaf, "dtype", None)
        if kind is None or not jnp.issubdtype(kind, jnp.floating):
            return leaf
        return jnp.asarray(leaf, dtype)

    return jax.tree.map(cast, tree)
