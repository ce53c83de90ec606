"""New shapes are counted where batches are handed over, and charged with what compiling them cost."""

from __future__ import annotations

import timeit
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.probes.shapes import Shapes
from penstock.telemetry.delivered import DELIVERED
from penstock.train import RetraceWatch, watch_retraces
from penstock.train.compile import watching


@pytest.fixture(autouse=True)
def framework(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Whatever else the process has imported, this one trains."""
    said = {"name": "jax"}
    monkeypatch.setattr(watching, "trainer", lambda: said["name"])
    return said


def rows(count: int) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices((np.zeros((count, 3), np.float32), np.zeros(count, np.int32)))


def read(watch: RetraceWatch, dataset: ps.Dataset, costs: dict[int, float], epochs: int = 1) -> None:
    """A trainer that compiles, for so many seconds each, at some steps."""
    with watch:
        for epoch in range(epochs):
            for step, _ in enumerate(dataset):
                if not epoch and step in costs:
                    watch.compiled(costs[step])


def test_a_short_last_batch_is_one_retrace_with_its_cost() -> None:
    watch = watch_retraces()
    read(watch, rows(22).batch(4), {0: 2.0, 5: 0.25}, epochs=3)
    (one,) = watch.retraces
    assert (one.step, one.leaf, one.before, one.after) == (5, "[0]", "float32[4, 3]", "float32[2, 3]")
    assert one.cost_s == 0.25
    assert (watch.compilations, watch.compiling_s) == (2, 2.25)


def test_nothing_is_heard_before_or_after() -> None:
    watch = watch_retraces()
    list(rows(22).batch(4))
    with watch:
        pass
    list(rows(22).batch(4))
    assert watch.retraces == ()
    assert DELIVERED.listeners == ()


def test_each_dataset_has_its_own_shapes() -> None:
    train, validation = rows(32).batch(4), rows(32).batch(8)
    with watch_retraces() as watch:
        for _ in range(2):
            list(train), list(validation)
    assert watch.retraces == ()
    assert "no retrace in 24 steps" in str(watch)


def test_shapes_that_keep_changing_are_a_finding_that_names_the_batch() -> None:
    lengths = ps.Dataset.range(1, 13).map(lambda n: np.arange(n))
    watch = watch_retraces()
    read(watch, lengths.padded_batch(2), dict.fromkeys(range(6), 0.1))
    finding = watch.finding()
    assert finding is not None
    assert (finding.kind, finding.confidence) == ("retrace", "high")
    assert finding.blame.startswith("padded_batch at ")
    assert "fix_shapes" in finding.advice[0]
    assert "5 new shapes; 6 compilations took 600.0 ms" in str(watch)


def test_what_cost_something_is_told_before_what_only_looks_so() -> None:
    texts, train = ps.Dataset.range(1, 13).map(lambda n: np.arange(n)), rows(22).batch(4)
    watch = watch_retraces()
    read(watch, texts, {})
    read(watch, train, {5: 0.25})
    assert [one.step for one in watch.trace().retraces] == [5]


def test_a_dataset_that_a_function_reads_is_not_the_trainers() -> None:
    inner = ps.Dataset.range(1, 4).map(lambda n: np.arange(n))
    outer = ps.Dataset.range(4).map(lambda n: sum(len(one) for one in inner), compile=False)
    with watch_retraces() as watch:
        assert list(outer) == [6] * 4
    assert watch.retraces == ()


def test_with_pytorch_new_shapes_are_free_unless_something_compiles(framework: dict[str, str]) -> None:
    framework["name"] = "torch"
    watch = watch_retraces()
    read(watch, rows(22).batch(4), {})
    assert watch.retraces == ()
    read(watch, rows(22).batch(4), {0: 1.0})
    assert len(watch.retraces) == 2


def test_where_tensorflow_tells_nothing_a_long_step_tells_the_cost(framework: dict[str, str]) -> None:
    framework["name"] = "tensorflow"
    at = [0.0]
    watch = RetraceWatch(now=lambda: at[0])
    batches = [np.zeros(4)] * 5 + [np.zeros(2)] + [np.zeros(4)] * 2 + [np.zeros(3), np.zeros(4)]
    for n, _ in enumerate(watch.over(batches)):
        at[0] += 0.1 if n == 5 else 0.01
    assert [one.cost_s for one in watch.retraces] == [pytest.approx(0.09), None]


def test_another_loader_is_looped_over_and_may_be_again() -> None:
    watch = watch_retraces()

    class Loader:
        def __iter__(self) -> Any:
            return iter([np.zeros(4), np.zeros(3)])

    loader = Loader()
    for _ in range(2):
        assert len(list(watch.over(loader))) == 2
    assert len(watch.retraces) == 1
    assert watch.trace().loader.startswith("Loader at ")


@pytest.mark.parametrize(
    ("ahead", "news", "events", "expected"),
    [
        (0, [3], [(3, 1.0), (3, 0.5)], [1.5]),
        (0, [3], [(4, 1.0)], [None]),
        (4, [3], [(5, 1.0), (5, 0.5)], [1.5]),
        (4, [3], [(8, 1.0)], [None]),
        (4, [3, 5], [(5, 1.0), (5, 0.5), (7, 2.0)], [1.5, 2.0]),
        (4, [3, 4], [(3, 1.0), (4, 2.0), (9, 4.0)], [1.0, 2.0]),
    ],
)
def test_what_is_compiled_is_charged_to_the_batch_it_was_for(
    ahead: int, news: list[int], events: list[tuple[int, float]], expected: list[float | None]
) -> None:
    shapes = Shapes(ahead)
    heard = list(events)
    for step in range(12):
        batch = np.zeros(100 + step if step in news else 1)
        if shapes.is_other(batch):
            shapes.note(batch, step)
        while heard and heard[0][0] == step:
            shapes.compiled(heard.pop(0)[1], step)
    assert [one.cost_s for one in shapes.retraces] == expected


def test_while_nobody_listens_an_element_costs_a_glance() -> None:
    """Measured: 0.04 us; the bound is what was promised, 0.5 us."""
    seconds = min(timeit.repeat("DELIVERED.listeners and 1", globals={"DELIVERED": DELIVERED}, number=20_000, repeat=5))
    assert seconds / 20_000 < 0.5e-6
