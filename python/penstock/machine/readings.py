"""What the machine says of itself at one moment, as plain data: whoever reads it need not know where it came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacities:
    """What this host can do at most, measured; None: not measured here.

    Units: bytes per second, seconds, images per second. memcpy_core: copying, one core alone; memcpy_all: all cores
    of the budget together. storage: reading the dataset's path, large and in order; storage_latency_s: one small
    read of it; storage_is_cold: past the page cache. jpeg_core: images of about 500 x 375 that one core decodes.
    host_to_device: copying a batch to the accelerator.
    """

    memcpy_core: float | None = None
    memcpy_all: float | None = None
    storage: float | None = None
    storage_latency_s: float | None = None
    storage_is_cold: bool = False
    jpeg_core: float | None = None
    host_to_device: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where a run took place: the CPUs and bytes of its budget, and the limits that decided them."""

    cpus: int
    memory_bytes: int
    cpu_reason: str = ""
    memory_reason: str = ""
    capacities: Capacities = Capacities()


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorReading:
    """One accelerator now; None: it does not say, or may not be asked.

    utilisation: share of the last sampling period (1/6 to 1 s) in which any kernel ran; sm_activity: share of its
    multiprocessors at work, which is what DCGM shows. throttled: why its clocks are held down, in words; empty: they
    are not.
    """

    index: int
    name: str
    utilisation: float | None = None
    sm_activity: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    throttled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """Shares of the last ten seconds in which some task of the machine waited for a resource (Linux PSI)."""

    cpu: float
    memory: float
    io: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReading:
    """The host now. cores.

    Busy share of each core this process may use. rss_bytes: of this process and its children.
    """

    cores: tuple[float, ...] = ()
    rss_bytes: int = 0
    available_bytes: int | None = None
    pressure: Pressure | None = None
    accelerators: tuple[AcceleratorReading, ...] = ()
