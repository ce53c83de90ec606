"""What to set so that a framework uses the devices as asked: facts in, steps out, nothing touched.

The law: a request that a framework takes only in part is an error before anything is set, except where the machine
lacks what it is about (no GPU: nothing to limit), or the framework has no such thing at all, which the record says.
What the user's environment said otherwise is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.train.backend import Backend
from penstock.train.device import plan_jax, plan_tensorflow, plan_torch
from penstock.train.device.request import Request
from penstock.train.device.steps import Facts, Planned

_PLANS: Mapping[Backend, Callable[[Request, Facts], Planned]] = {
    "tensorflow": plan_tensorflow.plan,
    "jax": plan_jax.plan,
    "torch": plan_torch.plan,
}


def plan(backend: Backend, request: Request, facts: Facts) -> Planned:
    """The steps for `backend`, in order, and what is not needed or not possible. Raises: InvalidArgumentError."""
    return _PLANS[backend](request, facts)
