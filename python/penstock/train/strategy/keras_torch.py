"""Keras' `fit` on PyTorch over several processes: an optimizer that takes the mean of all ranks' gradients.

Keras has no distribution on PyTorch, and its training step goes past DistributedDataParallel. But every step ends in
`optimizer.apply(gradients, variables)`: there the gradients of all ranks are averaged, before scaling, clipping and
anything else is done to them, so that every rank does the same. It is exact where ranks have equally many rows in
each step; the Keras adapter refuses a dataset of which that is not so. The losses that `fit` logs are a rank's own.
"""

from __future__ import annotations

from typing import Any


def averaged(optimizer: Any) -> Any:
    """The optimizer, taking the mean of all ranks' gradients. Compile with it.

    Itself where there is one process, and on TensorFlow and JAX, whose strategies average by themselves.

    optimizer: Keras' own, or a name as `compile` takes it; under mixed_float16 it gets its loss scaling here, since
    inside of it a rank could leave out a step that others do. When it is built, all take the variables of rank 0.
    It is saved, and loaded, as the optimizer it was.
    """
    import keras

    optimizer = keras.optimizers.get(optimizer)
    if keras.backend.backend() != "torch":
        return optimizer
    from torch import distributed

    if not distributed.is_initialized() or distributed.get_world_size() == 1:
        return optimizer
    scaling = keras.optimizers.LossScaleOptimizer
    if keras.config.dtype_policy().name == "mixed_float16" and not isinstance(optimizer, scaling):
        optimizer = scaling(optimizer)
    kind = type(optimizer)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    optimizer.__class__ = type(kind.__name__, (_Averaging, kind), names)
    return optimizer


class _Averaging:
    """What stands before the optimizer's own class. averages_over_ranks: the Keras adapter asks for it."""

    averages_over_ranks = True

    def build(self, variables: Any) -> None:
        from torch import distributed

        for variable in variables:
            distributed.broadcast(variable.value.data, src=0)
        super().build(variables)  # type: ignore[misc]  # the optimizer's

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        return super().apply(_means(list(grads)), trainable_variables)  # type: ignore[misc]  # the optimizer's


def _means(gradients: list[Any]) -> list[Any]:
    """Each gradient's mean over the ranks. One all-reduce for each dtype; None stays None."""
    import torch
    from torch import distributed

    world = distributed.get_world_size()
    means = list(gradients)
    for dtype in dict.fromkeys(gradient.dtype for gradient in gradients if gradient is not None):
        places = [at for at, one in enumerate(gradients) if one is not None and one.dtype == dtype]
        flat = torch.cat([gradients[at].reshape(-1) for at in places])
        distributed.all_reduce(flat)
        flat /= world
        pieces = flat.split([gradients[at].numel() for at in places])
        for at, piece in zip(places, pieces, strict=True):
            means[at] = piece.view_as(gradients[at])
    return means
