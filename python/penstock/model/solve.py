"""The rate at which all stations of a pipeline can keep up at once, cores and the GIL being shared among them.

Each bound of `limits` holds by itself; here they act together. At a rate X the cores are busy for X times the CPU
seconds of an element, and what other processes want of them makes every CPU second last longer, by a stretch s: cores
are handed out fairly, so s = threads that want one / cores. The time an element keeps a worker is then its own waiting
plus s times its CPU seconds; a stage must not need more workers than it has, nor all stages more threads than there
are; nor may the GIL be held for longer than there is time. The largest such X is found by halving.

Source: utilisation law and Little's law (Denning and Buzen, 1978); processor sharing for the stretch (L. Kleinrock,
"Time-shared Systems: A Theoretical Treatment", J. ACM 14(2), 1967).
"""

from __future__ import annotations

from penstock.model.demand import Demands, stretch

_HALVINGS = 50


def attainable(found: Demands) -> float:
    """Elements/s that the pipeline could give to a trainer that only takes; infinite where nothing is demanded."""
    most = _most(found)
    if most == float("inf"):
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _keeps_up(found, middle) else (low, middle)
    return low


def _most(found: Demands) -> float:
    """What the lowest of the plain bounds lets through."""
    bounds = [stage.workers / stage.own_s for stage in found.stages if stage.own_s > 0]
    if found.cpu_s > 0:
        bounds.append(found.host.cpus / found.cpu_s)
    return min(bounds, default=float("inf"))


def _keeps_up(found: Demands, rate: float) -> bool:
    longer = stretch(found, rate)
    if rate * found.gil_s * max(1.0, longer * found.gil_stretched) > 1:
        return False
    threads = 0.0
    for stage in found.stages:
        workers = rate * sum(step.idle_s + step.cpu_s * longer for step in stage.steps)
        if workers > stage.workers:
            return False
        threads += workers
    return found.threads is None or threads <= found.threads
