"""The training kit: device memory, precision, compilation, strategies, schedules and monitoring, on each framework.

import penstock.train

runtime = penstock.train.setup(backend="auto", seed=0)
with runtime.scope():
    model = ...
"""

from __future__ import annotations

from penstock.train.compile.fix_shapes import FixedShapes, fix_shapes
from penstock.train.compile.jit import set_jit
from penstock.train.compile.step import compile_step
from penstock.train.compile.watching import RetraceWatch, watch_retraces
from penstock.train.device.listing import Device, DeviceList, devices
from penstock.train.device.release import Released, release
from penstock.train.monitor import Alarm, Epoch, Monitor
from penstock.train.placement.place import Placement, place
from penstock.train.precision.check import check_precision
from penstock.train.precision.compare import compare_precision
from penstock.train.precision.comparison import PrecisionComparison, PrecisionRun
from penstock.train.precision.jax_policy import CastingPolicy, casting_policy
from penstock.train.precision.lever import set_precision
from penstock.train.precision.skipped import skipped_steps
from penstock.train.precision.torch_amp import autocast, grad_scaler
from penstock.train.runtime import Change, Runtime
from penstock.train.schedule.scale import Scaled, scale
from penstock.train.schedule.scaling import scaled_rate
from penstock.train.schedule.warm_up import jax_warm_up, keras_warm_up, torch_warm_up
from penstock.train.setup import setup
from penstock.train.strategy.choose import choose as choose_strategy
from penstock.train.strategy.chosen import Strategy
from penstock.train.strategy.jax import batch_sharding, unmatched_layouts
from penstock.train.strategy.keras_torch import averaged
from penstock.train.strategy.torch import loss_weight, wrap

__all__ = [
    "Alarm",
    "CastingPolicy",
    "Change",
    "Device",
    "DeviceList",
    "Epoch",
    "FixedShapes",
    "Monitor",
    "Placement",
    "PrecisionComparison",
    "PrecisionRun",
    "Released",
    "RetraceWatch",
    "Runtime",
    "Scaled",
    "Strategy",
    "autocast",
    "averaged",
    "batch_sharding",
    "casting_policy",
    "check_precision",
    "choose_strategy",
    "compare_precision",
    "compile_step",
    "devices",
    "fix_shapes",
    "grad_scaler",
    "jax_warm_up",
    "keras_warm_up",
    "loss_weight",
    "place",
    "release",
    "scale",
    "scaled_rate",
    "set_jit",
    "set_precision",
    "setup",
    "skipped_steps",
    "torch_warm_up",
    "unmatched_layouts",
    "watch_retraces",
    "wrap",
]
