from __future__ import annotations

import pytest

from penstock.cli.demo.job import WARM_UP_STEPS
from penstock.cli.demo.pace import Fetch, Pace, measure, starvation_s


def test_a_synchronous_loop_waits_as_long_as_it_fetches() -> None:
    # 2 s to fetch, 3 s to compute, in turn
    fetches = [Fetch(5.0 * i, 5.0 * i + 2) for i in range(4)]
    done = [5.0 * i + 5 for i in range(4)]
    assert starvation_s(fetches, done) == [2, 2, 2, 2]


def test_a_batch_late_for_the_host_but_in_time_for_the_device_is_not_waited_for() -> None:
    # dispatch is free: the host fetches all the time, the device computes for 4 s behind it
    fetches = [Fetch(2.0 * i, 2.0 * i + 2) for i in range(4)]
    done = [6.0, 10.0, 14.0, 18.0]
    assert starvation_s(fetches, done) == [2, 0, 0, 0]


def test_a_device_faster_than_its_input_waits_for_the_difference() -> None:
    fetches = [Fetch(2.0 * i, 2.0 * i + 2) for i in range(4)]
    done = [3.0, 5.0, 7.0, 9.0]  # 1 s of compute after each arrival
    assert starvation_s(fetches, done) == [2, 1, 1, 1]


def test_a_batch_fetched_ahead_is_judged_by_the_step_it_could_hold_up() -> None:
    fetches = [Fetch(0, 1), Fetch(1, 2), Fetch(2, 6), Fetch(6, 7)]
    done = [5.0, 8.0, 11.0]
    assert starvation_s(fetches, done, ahead=1) == [1, 1, 1]


def test_rates_are_of_the_steps_between_warm_up_and_those_that_say_how_long_it_waited() -> None:
    done = [100.0, 101.0, 102.0, *(102.0 + 2 * i for i in range(1, 11)), *(122.0 + 4 * i for i in range(1, 6))]
    waited = [99.0] * (WARM_UP_STEPS + 10) + [1.0] * 5
    assert measure(done, waited, batch_size=8, wait_steps=5) == Pace(images_per_s=4.0, step_s=2.0, wait_share=0.25)


def test_what_was_not_measured_stays_unknown() -> None:
    assert measure([float(i) for i in range(8)], None, 1, 2).wait_share is None


@pytest.mark.parametrize("waited", [0.0, 5.0])
def test_a_share_is_at_most_all(waited: float) -> None:
    share = measure([float(i) for i in range(8)], [waited] * 8, 1, 2).wait_share
    assert share == min(1.0, waited)
