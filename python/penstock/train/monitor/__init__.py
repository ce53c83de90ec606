"""Training as it goes: what steps take, what the device waits for, what the machine does meanwhile."""

from __future__ import annotations

from penstock.train.monitor.alarms import Alarm
from penstock.train.monitor.epoch import Epoch
from penstock.train.monitor.monitor import Monitor

__all__ = ["Alarm", "Epoch", "Monitor"]
