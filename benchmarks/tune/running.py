"""One run in a process of its own: `python -m benchmarks.tune.running LOAD LOADER SETTING SECONDS STEP_S PORT`.

It prints one line of JSON: at every step that the consumer received, seconds since the first request; CPU seconds of
the process and of those it started, read ten times a second; then what it was tuned to. SETTING: "worst" (tuned from
the worst), or numbers that stay, as JSON. STEP_S: it asks at these intervals, by the clock; 0: as fast as it can.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.tune.workloads import penstock, tf_data
from benchmarks.worker import cpu_s

_CPU_EVERY_S = 0.1


def penstock_run(load: str, setting: str, port: str) -> tuple[Iterator[Any], Any]:
    """Batches, and whom to ask for the log."""
    import penstock as ps

    dataset = penstock(load, port)
    with dataset.iterator() as unopened:
        frozen = ps.freeze(unopened)
    if setting == "worst":
        start, enabled = frozen.with_all(parallelism=1, prefetch=1, block_size=1, read_ahead=0), True
    else:
        start, enabled = frozen.with_all(waits=True, **json.loads(setting)), False
    iterator = dataset.with_options(ps.Options(autotune=ps.AutotuneOptions(enabled=enabled, start=start))).iterator()
    return iterator, iterator


def tf_run(load: str, setting: str, port: str) -> tuple[Iterator[Any], None]:
    import tensorflow as tf

    tuned = setting == "worst"
    said = {} if tuned else json.loads(setting)
    auto = tf.data.AUTOTUNE
    dataset = tf_data(load, port, said.get("parallelism", auto), said.get("prefetch", auto))
    options = tf.data.Options()
    options.autotune.enabled = tuned
    if not tuned:  # calls of Python functions are as many as it has threads
        options.threading.private_threadpool_size = max(said["parallelism"], os.cpu_count() or 1)
    if tuned:
        options.autotune.initial_parallelism = 1
    return iter(dataset.with_options(options)), None


def measure(batches: Iterator[Any], seconds: float, step_s: float) -> dict[str, Any]:
    """The consumer: asks, and notes when it received, whether it had to wait, and what CPU was used."""
    marks: list[float] = []
    waits: list[float] = []
    cpu: list[tuple[float, float]] = []
    began, due = time.perf_counter(), 0.0
    read_at = -1.0
    while (now := time.perf_counter() - began) < seconds:
        if now - read_at > _CPU_EVERY_S:
            cpu.append((now, cpu_s()))
            read_at = now
        if step_s and now < due:
            time.sleep(due - now)
        asked = time.perf_counter() - began
        next(batches)
        received = time.perf_counter() - began
        marks.append(round(received, 5))
        waits.append(round(received - asked, 5))
        due = max(due, asked) + step_s if step_s else 0.0
    cpu.append((time.perf_counter() - began, cpu_s()))
    return {"marks": marks, "waits": waits, "cpu": cpu}


def main() -> None:
    """Run what is named on the command line."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints stays out of the answer
    load, loader, setting, seconds, step_s, port = sys.argv[1:]
    run = penstock_run if loader == "penstock" else tf_run
    batches, iterator = run(load, setting, port)
    answer = measure(batches, float(seconds), float(step_s))
    if iterator is not None:
        import penstock as ps

        answer["log"] = [
            f"{e.at_s:.2f} s {e.stage} {e.knob} {e.before} -> {e.after}: {e.why}" for e in iterator.tuning_log()
        ]
        answer["tuned"] = json.loads(ps.freeze(iterator).to_json())["stages"]
    print(json.dumps(answer), file=out, flush=True)
    os._exit(0)  # tf.data waits for what it has begun


if __name__ == "__main__":
    main()
