"""Batches as PyTorch tensors: on the CPU without a copy; on the device where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.adapters.nest import leafwise, require_numbers


def converter(device: Any = "cpu") -> Callable[[Any], Any]:
    """A function from a batch of arrays to the same nest of tensors on `device`.

    On the CPU a tensor aliases its array and keeps the array's owner alive. A transfer is a blocking one: the buffer
    may go back to its pool as soon as it is over.
    """
    import torch

    on_cpu = torch.device(device).type == "cpu"

    def convert(array: Any) -> Any:
        require_numbers(array, "PyTorch")
        if not array.flags.writeable:
            array = array.copy()  # PyTorch has no read-only tensors, and would let the model write to the user's data
        if array.dtype.name == "bfloat16":
            tensor = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        else:
            tensor = torch.from_numpy(array)
        return tensor if on_cpu else tensor.to(device)

    return leafwise(convert)
