"""Which knob to turn, in the words of the loader that was used: what to write, and at which line of it."""

from __future__ import annotations

from typing import Literal

from penstock.diagnose.steps import integer
from penstock.telemetry.trace import Trace

Aim = Literal["parallel", "ahead", "processes", "order", "cache", "shuffle"]

_TF_PYTHON = "write the function in TensorFlow ops: py_function, numpy_function and from_generator run one at a time"
_KNOBS: dict[str, dict[Aim, str]] = {
    "penstock": {
        "parallel": "map(..., num_parallel_calls=penstock.AUTOTUNE), or a number such as {cpus}",
        "ahead": ".prefetch(penstock.AUTOTUNE) as the last step, or a number such as 8",
        "processes": 'map(..., executor="processes")',
        "order": "Options(deterministic=False), so that a slow element holds none up; .prefetch(4) hides shorter ones",
        "cache": ".cache()",
        "shuffle": ".shuffle() without a size permutes the whole range where elements have positions",
    },
    "tf.data": {
        "parallel": ".map(fn, num_parallel_calls=tf.data.AUTOTUNE), and in interleave too",
        "ahead": ".prefetch(tf.data.AUTOTUNE) as the last step",
        "processes": _TF_PYTHON,
        "order": "num_parallel_calls=tf.data.AUTOTUNE with deterministic=False, and .prefetch(tf.data.AUTOTUNE)",
        "cache": ".cache()",
        "shuffle": ".shuffle(n) with n near the number of elements; shuffle file names as well",
    },
    "torch": {
        "parallel": "DataLoader(num_workers={cpus})",
        "ahead": "DataLoader(num_workers={some}, prefetch_factor=4, persistent_workers=True)",
        "processes": "DataLoader(num_workers={cpus}): its workers are processes, each with a GIL of its own",
        "order": "DataLoader(in_order=False) where the order may differ, or a higher prefetch_factor",
        "cache": "keep what __getitem__ decodes: as uint8 arrays in a file opened with numpy.load(mmap_mode='r')",
        "shuffle": "a map-style dataset with DataLoader(shuffle=True) permutes the whole range",
    },
    "grain": {
        "parallel": "DataLoader(worker_count={cpus}), or .mp_prefetch(MultiprocessingOptions(num_workers={cpus}))",
        "ahead": "worker_buffer_size=2 or more, and ReadOptions(prefetch_buffer_size=...)",
        "processes": "grain.DataLoader(worker_count={cpus}): its workers are processes",
        "order": "ReadOptions(num_threads=..., prefetch_buffer_size=...) with larger numbers",
        "cache": "keep what the first transformation makes, in ArrayRecord files of its own",
        "shuffle": "MapDataset.shuffle() permutes the whole range",
    },
    "keras": {
        "parallel": "PyDataset(workers={cpus}); a generator cannot be parallel: make it a PyDataset",
        "ahead": "PyDataset(workers={some}, max_queue_size=10)",
        "processes": "PyDataset(workers={cpus}, use_multiprocessing=True)",
        "order": "PyDataset(max_queue_size=...) with a larger number",
        "cache": "keep what __getitem__ decodes, as arrays",
        "shuffle": "permute the indices in on_epoch_end",
    },
    "iterable": {
        "parallel": "make elements from an index, several can then be made at once: penstock.Dataset.range(n).map(fn)",
        "ahead": "penstock.Dataset.from_generator(fn) runs ahead of the trainer in a thread",
        "processes": 'penstock.Dataset.range(n).map(fn, executor="processes")',
        "order": "penstock.Dataset.range(n).map(fn) with Options(deterministic=False)",
        "cache": "keep what does not change between epochs",
        "shuffle": "permute the indices, not the elements",
    },
}


def knob(trace: Trace, aim: Aim) -> str:
    """What to write in the user's loader for `aim`; never fewer workers than there are."""
    cpus = max(2, trace.host.cpus, 2 * (integer(trace, "num_workers", "worker_count", "workers") or 0))
    return _KNOBS[trace.source][aim].format(cpus=cpus, some=max(1, cpus // 2))
