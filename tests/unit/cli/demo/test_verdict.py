from __future__ import annotations

from penstock.cli.demo.outcome import Outcome
from penstock.cli.demo.verdict import verdict


def outcome(name: str, images_per_s: float, wait: float | None = None, au: float | None = None) -> Outcome:
    return Outcome(name, images_per_s, 64 / images_per_s, wait, au=au)


def test_the_faster_penstock_is_said_to_be() -> None:
    said = verdict(
        [outcome("Python generator", 400, 0.71), outcome("tf.data", 700, 0.1), outcome("Penstock", 812, 0.03)]
    )
    assert said == (
        "Penstock fed the model at 812 images/s, 2.0 times the generator and 1.2 times tf.data; "
        "of each step it waited 3% with Penstock, 71% with the generator and 10% with tf.data."
    )


def test_the_slower_penstock_is_said_to_be() -> None:
    said = verdict([outcome("Python generator", 1000, 0.1), outcome("Penstock", 812, 0.2)])
    assert said.startswith("Penstock fed the model at 812 images/s, only 0.81 times the generator; ")


def test_noise_is_no_difference() -> None:
    said = verdict([outcome("Python generator", 800, 0.1), outcome("Penstock", 812, 0.2)])
    assert "as fast as the generator;" in said


def test_what_was_not_measured_is_not_made_up() -> None:
    said = verdict([outcome("Python generator", 400), outcome("tf.data", 700), outcome("Penstock", 812, 0.03)])
    assert said.endswith("of each step it waited 3% with Penstock.")
    said = verdict([outcome("Python generator", 400), outcome("Penstock", 812)])
    assert said.endswith("how long each left it waiting could not be measured.")


def test_an_emulated_accelerator_is_judged_by_its_utilisation() -> None:
    said = verdict([outcome("Python generator", 400, 0.6, 0.4), outcome("Penstock", 812, 0.03, 0.97)])
    assert said == (
        "Penstock fed the accelerator at 812 images/s, 2.0 times the generator; "
        "the accelerator computed 97% of the time, against 40% with the generator."
    )
