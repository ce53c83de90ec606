"""A stage's record counts the time it had nothing to take, once however often it looked."""

from __future__ import annotations

from penstock.telemetry.recorder import Recorder, StageRecord


def test_a_stage_starves_from_its_first_look_until_it_is_fed() -> None:
    record = StageRecord()
    record.feed(1.0)
    record.starve(2.0)
    record.starve(3.0)
    record.feed(5.0)
    record.feed(9.0)
    assert record.wait_in_s == 3.0


def test_a_stage_that_runs_again_has_one_record() -> None:
    recorder = Recorder()
    recorder.stage(3).tasks += 1
    recorder.stage(3).tasks += 1
    assert recorder.stage(3).tasks == 2
    assert recorder.stage(4).tasks == 0
