"""Demands: what an element costs, however far ahead of the trainer the pipeline was."""

from __future__ import annotations

import pytest

from penstock.model.demand import demands, measured_rate, spread, trainer_step_s
from tests.unit.model.traces import run, stage, step


def test_demand_is_what_was_spent_over_what_was_done_for_it() -> None:
    found = demands(run(step("map", busy_s=4.0, cpu_s=3.0), batch=1))
    assert (found.steps[0].cpu_s, found.steps[0].idle_s) == pytest.approx((0.003, 0.001))


def test_what_ran_ahead_of_the_trainer_is_not_charged_to_what_it_received() -> None:
    trace = run(step("batch", elements=120), step("map", elements=1200, cpu_s=2.4, busy_s=2.4))
    assert demands(trace).steps[1].cpu_s == pytest.approx(0.002)


def test_batches_that_are_unfinished_do_not_count_as_rows_that_are_missing() -> None:
    trace = run(step("batch", elements=1), step("map", elements=19, cpu_s=0.19), rows=10, batch=10)
    assert demands(trace).steps[1].cpu_s == pytest.approx(0.01)


def test_batches_are_visited_once_for_all_their_rows() -> None:
    found = demands(run(step("batch", elements=100), step("map")))
    assert [one.visits for one in found.steps] == pytest.approx([0.1, 1.0])


def test_what_a_shuffle_holds_is_not_charged_to_what_is_below_it() -> None:
    trace = run(
        step("shuffle", "0"), step("map", "1", elements=3000, cpu_s=3.0, busy_s=3.0), batch=1,
        stages=(stage("0", kind="barrier", inputs=("1",)), stage("1")),
    )  # fmt: skip
    assert demands(trace).steps[1].cpu_s == pytest.approx(0.001)


def test_a_filter_is_visited_by_what_it_drops_too() -> None:
    trace = run(
        step("filter", "0"), step("map", "1", elements=4000, cpu_s=4.0, busy_s=4.0), batch=1,
        stages=(stage("0", kind="segment", inputs=("1",)), stage("1")),
    )  # fmt: skip
    found = demands(trace).steps[1]
    assert (found.visits, found.cpu_s) == pytest.approx((4.0, 0.004))


def test_batches_over_a_stage_of_their_own_take_each_row_once() -> None:
    trace = run(
        step("batch", "0", elements=100), step("map", "1", elements=1500, cpu_s=3.0, busy_s=3.0),
        stages=(stage("0", kind="barrier", inputs=("1",)), stage("1")),
    )  # fmt: skip
    assert demands(trace).steps[1].cpu_s == pytest.approx(0.002)


def test_a_chain_hands_through_to_what_it_opens() -> None:
    trace = run(
        step("map", "1", cpu_s=1.0, busy_s=1.0), batch=1, stages=(stage("0", kind="chain", inputs=("1",)), stage("1"))
    )
    assert demands(trace).steps[0].cpu_s == pytest.approx(0.001)


def test_waiting_for_a_core_or_the_gil_is_no_demand() -> None:
    found = demands(run(step("map", busy_s=6.0, cpu_s=2.0, gil_s=3.0, queued_s=1.0), batch=1)).steps[0]
    assert (found.own_s, found.gil_s) == pytest.approx((0.004, 0.002))  # held 2 s, waited 1 s for it and 1 s for a core


def test_functions_in_processes_hold_no_gil_here() -> None:
    trace = run(step("map", busy_s=2.0, cpu_s=2.0, gil_s=2.0), stages=(stage(executor="processes"),))
    assert demands(trace).gil_s == 0


def test_ops_of_a_function_are_part_of_its_verb() -> None:
    trace = run(step("map", cpu_s=2.0, busy_s=2.0), step("decode", part_of="map-0", cpu_s=1.5, busy_s=1.5), batch=1)
    assert demands(trace).cpu_s == pytest.approx(0.002)


def test_a_function_over_batches_is_visited_once_a_batch() -> None:
    trace = run(
        step("map", "0", elements=100, cpu_s=1.0, busy_s=1.0), step("batch", "1", elements=110),
        step("decode", "1", elements=1100, cpu_s=1.1, busy_s=1.1),
        stages=(stage("0", kind="segment", inputs=("1",)), stage("1")),
    )  # fmt: skip
    assert [one.cpu_s for one in demands(trace).steps] == pytest.approx([0.001, 0.0, 0.001])


def test_other_peoples_loaders_count_the_rows_they_made() -> None:
    trace = run(
        step("dataset", "loader", elements=1200, cpu_s=2.4, busy_s=2.4), step("batch", "none"), source="torch",
        stages=(stage("loader", kind="loader", workers=2, executor="processes"),),
    )  # fmt: skip
    assert demands(trace).steps[0].cpu_s == pytest.approx(0.002)


def test_functions_that_were_sampled_belong_to_what_was_delivered() -> None:
    trace = run(
        step("function", "loader", elements=0, cpu_s=2.0, busy_s=2.0), step("batch", "none"), source="tf.data",
        stages=(stage("loader", kind="loader"),),
    )  # fmt: skip
    assert demands(trace).steps[0].cpu_s == pytest.approx(0.002)


def test_rate_leaves_the_first_batch_out() -> None:
    assert measured_rate(run(seconds=12.0, consumer={"first_s": 2.1})) == pytest.approx(990 / 9.9)


@pytest.mark.parametrize(
    ("consumer", "seconds"),
    [
        ({}, 0.05),
        ({"replay_step_s": 0.02}, 0.02),
        ({"starved_s": 4.0, "method": "device done"}, 0.06),
        ({"starved_s": 4.0}, 0.05),  # an upper bound says nothing of the trainer
        ({"steps": 0, "rows": 0}, 0.0),
    ],
)
def test_the_trainers_own_step_is_what_is_known_best(consumer: dict[str, object], seconds: float) -> None:
    assert trainer_step_s(run(step_s=0.05, consumer=consumer)) == pytest.approx(seconds)


def test_spread_is_of_quantiles() -> None:
    assert spread((1.0, 1.0, 1.0, 1.0)) < 0.01
    assert spread((1.0, 1.0, 50.0, 200.0)) > 5
    assert spread((0.0, 0.0, 0.0, 0.0)) == 0


def test_a_trace_of_a_foreign_loader_has_the_trainer_alone() -> None:
    found = demands(run(stages=(stage(kind="loader"),), source="torch", step_s=0.05))
    assert (found.cpu_s, found.trainer_s) == pytest.approx((0.0, 0.005))
