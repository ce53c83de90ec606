"""What several devices or processes need of a dataset given to Keras, checked before the first step of each epoch.

On JAX a distribution splits each batch, in `evaluate` and `predict` too. On PyTorch, where Keras has none, processes
train together only if the optimizer averages their gradients; nothing but `fit` makes them depend on each other.
"""

from __future__ import annotations

from penstock.adapters.feed import Feed, Shared
from penstock.adapters.keras_call import find_call
from penstock.adapters.replicas import require_divisible
from penstock.errors import InvalidArgumentError


def check_jax(feed: Feed, shared: Shared | None) -> None:
    """Raises: InvalidArgumentError: Keras' distribution does not divide each batch of `feed`."""
    import keras

    distribution = keras.distribution.distribution()
    if distribution is None:
        return
    mesh, processes = distribution.device_mesh, distribution.num_processes
    replicas = mesh.shape[mesh.axis_names.index(distribution.batch_dim_name)]
    name = f"keras.distribution.{type(distribution).__name__}"
    require_divisible(feed, shared, processes, max(1, replicas // processes), name)


def check_torch(feed: Feed, shared: Shared | None) -> None:
    """Raises: InvalidArgumentError: in `fit`, over several processes: each would train alone, or on unequal rows."""
    from torch import distributed

    if not (distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1):
        return
    call = find_call()
    if call.purpose != "fit" or call.model is None:
        return
    model, processes = call.model, distributed.get_world_size()
    if not getattr(model.optimizer, "averages_over_ranks", False):
        raise InvalidArgumentError(
            f"fit: one of {processes} processes of PyTorch, which would train a model each",
            got=f"{type(model.optimizer).__name__}, which knows only the gradients of this one",
            expected="an optimizer that averages them",
            remedy="compile(penstock.train.averaged(optimizer), ...); one of your own says averages_over_ranks = True",
        )  # fmt: skip
    require_divisible(feed, shared, processes, 1, f"fit over {processes} processes of PyTorch")
