"""The composition root: which options and budgets reach the plan, what a state holds, what is refused of one."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import NotResumableError, StateMismatchError
from penstock.graph.nodes import Map
from penstock.machine.budget import Budget
from penstock.session import preparation, prepare, resolve_seed, resolve_signature

GIB = 2**30


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of eight cores and 16 GiB."""
    budget = Budget(cpus=8, cpu_reason="eight", memory_bytes=16 * GIB, memory_reason="sixteen")
    monkeypatch.setattr(preparation, "recent_budget", lambda: budget)


def _ten() -> ps.Dataset:
    return ps.Dataset.range(10)


@pytest.mark.parametrize(("said", "cpus"), [(None, 8), (3, 3), (100, 8)])
@pytest.mark.usefixtures("machine")
def test_cpu_budget_lowers_what_the_machine_has(said: int | None, cpus: int) -> None:
    prepared = prepare(_ten().with_options(ps.Options(cpu_budget=said))._node)
    assert prepared.budget.cpus == cpus
    assert prepared.plan.root.width.workers == cpus


@pytest.mark.parametrize(("said", "held"), [(None, 8 * GIB), ("1 GiB", GIB), ("1 TiB", 8 * GIB), (5, 5)])
@pytest.mark.usefixtures("machine")
def test_ram_budget_lowers_what_the_machine_has(said: Any, held: int) -> None:
    assert prepare(_ten().with_options(ps.Options(ram_budget=said))._node).ram_budget_bytes == held


def test_options_given_when_opening_win() -> None:
    prepared = prepare(_ten().with_options(ps.Options(seed=1, block_size=2))._node, ps.Options(seed=9))
    assert (prepared.options.seed, prepared.options.block_size) == (9, 2)


def test_skip_rules_are_skipped() -> None:
    dataset = _ten().map(abs).map(abs).with_options(ps.Options(skip_rules=frozenset({"fuse_maps"})))
    assert isinstance(prepare(dataset._node).plan.graph, Map)


def test_prepare_runs_no_user_code() -> None:
    def explode(x: Any) -> Any:
        raise AssertionError("ran")

    prepare(_ten().map(explode).filter(explode).batch(2)._node)


@pytest.mark.parametrize(("seed", "resolved"), [(None, 0), (0, 0), (-3, -3), (2**70, 2**70)])
def test_resolve_seed(seed: int | None, resolved: int) -> None:
    assert resolve_seed(ps.Options(seed=seed)) == resolved


def test_resolve_seed_of_entropy_is_fresh() -> None:
    assert resolve_seed(ps.Options(seed="entropy")) != resolve_seed(ps.Options(seed="entropy"))


# --- state -----------------------------------------------------------------------------------------------------------


def _state(dataset: ps.Dataset, taken: int = 3) -> dict[str, Any]:
    with dataset.iterator(2) as iterator:
        for _ in range(taken):
            next(iterator)
        return iterator.state_dict()


def test_state_is_a_few_values_of_json() -> None:
    state = _state(_ten().shuffle().batch(2))
    assert json.loads(json.dumps(state)) == state
    assert len(json.dumps(state)) < 1000
    assert (state["position"], state["epoch"], state["seed"]) == (3, 2, 0)


def test_state_brings_its_epoch_and_seed() -> None:
    dataset = _ten().shuffle().with_options(ps.Options(seed="entropy"))
    with dataset.iterator(4) as iterator:
        next(iterator)
        state = iterator.state_dict()
        rest = [int(x) for x in iterator]
    with dataset.iterator(0) as other:
        other.load_state_dict(state)
        assert other.epoch == 4
        assert [int(x) for x in other] == rest


BAD_STATES: dict[str, tuple[Any, str]] = {
    "not a dict": ("state", "not a state of a pipeline"),
    "a field less": ({"version": 2}, "not a state of a pipeline"),
    "another version": ({"version": 99}, "a state of another version"),
    "a negative position": ({"position": -1}, "a bad position"),
    "a position of text": ({"position": "3"}, "a bad position"),
}


@pytest.mark.parametrize("name", BAD_STATES)
def test_load_state_refuses_a_bad_state(name: str) -> None:
    changed, what = BAD_STATES[name]
    state = {**_state(_ten()), **changed} if isinstance(changed, dict) and name != "a field less" else changed
    with _ten().iterator() as iterator, pytest.raises(StateMismatchError, match=what):
        iterator.load_state_dict(state)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (_ten().batch(3), r"batch at .*test_session\.py:\d+: batch_size 2 became 3"),
        (_ten().skip(1).batch(2), r"batch became skip at .*test_session\.py:\d+"),
        (_ten().batch(2).batch(2), r"batch at .*test_session\.py:\d+ is new"),
        (_ten(), "batch is no longer there"),
    ],
)
def test_load_state_of_another_pipeline_says_what_differs(other: ps.Dataset, difference: str) -> None:
    state = _state(_ten().batch(2))
    with other.iterator() as iterator, pytest.raises(StateMismatchError, match=difference):
        iterator.load_state_dict(state)


def test_load_state_takes_the_same_pipeline_with_another_function_or_options() -> None:
    state = _state(_ten().map(abs))
    other = _ten().map(lambda x: x * 2).prefetch(3).with_options(ps.Options(cpu_budget=1))
    with other.iterator() as iterator:
        iterator.load_state_dict(state)
        assert int(next(iterator)) == 6


@pytest.mark.parametrize("method", ["state_dict", "load_state_dict"])
def test_state_of_results_as_they_complete_is_refused(method: str) -> None:
    dataset = _ten().map(abs).with_options(ps.Options(deterministic=False))
    with dataset.iterator() as iterator, pytest.raises(NotResumableError, match="as they complete"):
        getattr(iterator, method)(*([{}] if method == "load_state_dict" else []))


# --- what it says ----------------------------------------------------------------------------------------------------


def _impure(x: Any) -> Any:
    random.getstate()
    return x


def test_explain_shows_graph_rules_stages_and_reasons() -> None:
    text = _ten().shuffle().map(_impure).batch(2).with_options(ps.Options(cpu_budget=1)).explain()
    for part in (
        "graph:\n  #0  range at",
        "shuffle_to_permutation:\n  - shuffle at",
        "graph after all rules:",
        "stages, from the source:",
        "because it uses random.getstate",
        "resume: by position",
        "budget: 1 CPUs",
    ):
        assert part in text


def test_stats_before_the_first_element_are_zero() -> None:
    with _ten().iterator() as iterator:
        stats = iterator.stats()
    assert (stats.batches, stats.requests, stats.readiness, stats.stages) == (0, 0, 1.0, ())


def test_stats_count_what_was_delivered() -> None:
    with _ten().batch(4).iterator() as iterator:
        list(iterator)
        stats = iterator.stats()
    assert (stats.batches, stats.skipped, stats.waiting_bytes) == (3, 0, 0)
    assert {stage.name.split(" at ")[0]: stage.elements for stage in stats.stages} == {"range": 10, "batch": 3}


def test_resolve_signature_runs_one_element_for_all_functions() -> None:
    calls: list[int] = []

    def note(x: Any) -> Any:
        calls.append(int(x))
        return np.zeros(int(x) + 2)

    dataset = _ten().map(note).map(lambda x: x.sum()).batch(2)
    assert dataset.element_spec == ps.Spec((2,), "float64")
    assert dataset.element_spec == ps.Spec((2,), "float64")
    assert calls == [0]


def test_resolve_signature_of_an_empty_dataset_is_unknown() -> None:
    assert resolve_signature(ps.Dataset.range(0).map(_impure)._node) is None
