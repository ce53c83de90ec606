"""Shows a trace and its diagnosis: a page, JSON, Perfetto's events, TensorBoard's. Concludes nothing."""

from penstock.diagnose.report.html import write_html
from penstock.diagnose.report.json import as_json, write_json
from penstock.diagnose.report.perfetto import write_perfetto
from penstock.diagnose.report.tensorboard import write_events

__all__ = ["as_json", "write_events", "write_html", "write_json", "write_perfetto"]
