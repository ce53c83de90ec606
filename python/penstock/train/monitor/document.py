"""A monitored run as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from penstock.diagnose.diagnosis import Diagnosis
from penstock.telemetry.trace import Trace
from penstock.train.monitor.alarms import Alarm
from penstock.train.monitor.epoch import Epoch

FORMAT, VERSION = "penstock-monitor", 1


def as_json(trace: Trace, diagnosis: Diagnosis, epochs: Sequence[Epoch], alarms: Sequence[Alarm]) -> str:
    """One document: `format`, `version`, `method` (how starvation is known), `epochs`, `alarms`, `diagnosis`, `trace`.

    The last two are as `penstock.diagnose.report.as_json` has them.
    """
    document: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "framework": trace.framework, "method": trace.consumer.method,
        "epochs": [_epoch(one) for one in epochs], "alarms": [asdict(one) for one in alarms],
        "diagnosis": json.loads(diagnosis.to_json()), "trace": asdict(trace),
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=False)


def _epoch(epoch: Epoch) -> dict[str, Any]:
    derived = {
        "step_s": epoch.step_s, "starved_share": epoch.starved_share, "rate_elements_per_s": epoch.rate_elements_per_s
    }  # fmt: skip
    return asdict(epoch) | derived
