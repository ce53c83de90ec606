"""Strategies of tf.distribute: mirrored over the devices of one process, or over those of several processes."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.train.runtime import Change
from penstock.train.strategy.choose import Wish
from penstock.train.strategy.chosen import Strategy
from penstock.train.strategy.lost_worker import tell_of_lost_worker
from penstock.train.strategy.reduction import mirrored_reduction, multi_worker_reduction
from penstock.train.strategy.tf_config import Cluster, read_tf_config, require_free_port

_KEPT = "what was built in its scope stays spread out"


def local_devices() -> tuple[str, ...]:
    """The GPUs that TensorFlow may see, else its CPUs ("CPU:1": a logical one), as configured; starts nothing."""
    import tensorflow as tf

    for kind in ("GPU", "CPU"):
        count = 0
        for device in tf.config.get_visible_devices(kind):
            count += len(tf.config.get_logical_device_configuration(device) or (None,))
        if count:
            return tuple(f"{kind}:{number}" for number in range(count))
    return ()


def mirrored(wish: Wish) -> tuple[Strategy, tuple[Change, ...]]:
    """A replica on each device of this process. Starts TensorFlow.

    Raises: InvalidArgumentError: a device that is not there, or a way to add up that is not for these.
    """
    import tensorflow as tf

    exist = local_devices()
    names = exist if wish.devices is None else tuple(_short(name) for name in wish.devices)
    there = {_short(device.name) for device in tf.config.list_logical_devices()}
    for name in names:
        if name not in there:
            raise InvalidArgumentError(
                "setup: devices of 'mirrored'", got=repr(name), expected=f"some of {', '.join(exist)}",
                remedy="tf.config.set_logical_device_configuration splits one",
            )  # fmt: skip
    reduction = mirrored_reduction(wish.cross_device_ops, names, has_nccl=sys.platform != "win32")
    operations = {
        "nccl": tf.distribute.NcclAllReduce,
        "hierarchical": tf.distribute.HierarchicalCopyAllReduce,
        "one_device": tf.distribute.ReductionToOneDevice,
    }[reduction]()
    native = tf.distribute.MirroredStrategy(devices=[f"/{name}" for name in names], cross_device_ops=operations)
    strategy = Strategy(
        name="mirrored", backend="tensorflow", devices=names, native=native, enter=native.scope,
        cross_device_ops="" if reduction == "one_device" else reduction,
    )  # fmt: skip
    return strategy, (_change("MirroredStrategy", strategy),)


def multi_worker(wish: Wish) -> tuple[Strategy, tuple[Change, ...]]:
    """A replica on each device of each process of TF_CONFIG. Waits for all of them to start.

    Raises: InvalidArgumentError: TF_CONFIG cannot be followed, its port is taken, or TensorFlow has started already.
    """
    cluster = read_tf_config(os.environ)
    if wish.devices is not None:
        raise InvalidArgumentError(
            "setup: devices of 'multi_worker'", got=repr(list(wish.devices)),
            expected="none: it takes all GPUs it may see", remedy="tf.config.set_visible_devices says which",
        )  # fmt: skip
    on_gpus = bool(local_devices()) and local_devices()[0].startswith("GPU")
    reduction = multi_worker_reduction(wish.cross_device_ops, on_gpus=on_gpus)
    native = _start(cluster, reduction)
    strategy = Strategy(
        name="multi_worker", backend="tensorflow", rank=cluster.rank, world=len(cluster.addresses),
        devices=tuple(_short(name) for name in native.extended.worker_devices), native=native, enter=native.scope,
        cross_device_ops=reduction,
    )  # fmt: skip
    told = Change(
        lever="strategy", text="a lost worker is named below the traceback", undo=tell_of_lost_worker(cluster)
    )
    change = _change(f"MultiWorkerMirroredStrategy at {cluster.own_address}", strategy)
    return strategy, (change, *_repaired_keras(), told)


def _repaired_keras() -> tuple[Change, ...]:
    if find_spec("keras") is None:
        return ()
    import keras

    from penstock.adapters.keras_multi_worker import repair_multi_worker

    if keras.backend.backend() != "tensorflow":
        return ()
    text = f"fit of Keras {keras.__version__} under several workers"
    try:
        repaired, undo = repair_multi_worker()
    except (ImportError, AttributeError, TypeError) as error:
        why = f"it is built otherwise than any version known: {error}"
        return (Change(lever="strategy", text=text, outcome="not possible", why=why),)
    if not repaired:
        return (Change(lever="strategy", text=text, outcome="not needed", why="Keras has repaired it"),)
    return (Change(lever="strategy", text=f"{text} repaired", why=f"{' and '.join(repaired)}, keras#20585", undo=undo),)


def _start(cluster: Cluster, reduction: str) -> Any:
    import tensorflow as tf
    from tensorflow.python.eager import context

    if context.context()._collective_ops_server_def is None:  # else it is this process that listens
        require_free_port(cluster)
    implementation = {
        "nccl": tf.distribute.experimental.CommunicationImplementation.NCCL,
        "ring": tf.distribute.experimental.CommunicationImplementation.RING,
    }[reduction]
    options = tf.distribute.experimental.CommunicationOptions(implementation=implementation)
    try:
        return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    except RuntimeError as error:
        if "program startup" not in str(error):
            raise
        raise InvalidArgumentError(
            "setup: 'multi_worker' after TensorFlow has started", got=str(error),
            remedy="call penstock.train.setup before the first tensor, variable or list of logical devices",
        ) from error  # fmt: skip


def _change(text: str, strategy: Strategy) -> Change:
    count, rows = strategy.replicas, "a dataset's batch is the global one, over all replicas"
    return Change(lever="strategy", text=f"{text}, {count} replica{'s' if count != 1 else ''}", why=rows, kept=_KEPT)


def _short(name: str) -> str:
    """The device "GPU:0" of "/job:localhost/replica:0/task:0/device:GPU:0", "/gpu:0" and the like."""
    return ":".join(name.upper().replace("/", ":").split(":")[-2:])
