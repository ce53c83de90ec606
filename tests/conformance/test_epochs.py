"""Epochs: each is its own, each can be had again, and iterators of one dataset do not touch each other."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import penstock as ps
from penstock import Dataset, Options
from penstock.testing import assert_same_elements, collect, freeze
from tests.conformance.registry import CASES, Case, noisy


def test_epoch_repeats_when_asked_for(case: Case, files: Path) -> None:
    dataset = case.build(files)
    first = collect(dataset, 2, case.limit)
    assert_same_elements(collect(dataset, 2, case.limit), first, "the same dataset again")
    assert_same_elements(collect(case.build(files), 2, case.limit), first, "another dataset object")


def test_epochs_differ_where_something_is_drawn(case: Case, files: Path) -> None:
    dataset = case.build(files)
    epochs = [tuple(map(freeze, collect(dataset, epoch, case.limit))) for epoch in range(3)]
    assert len(set(epochs)) == (3 if case.varies else 1)


def test_two_iterators_at_once_take_the_next_epochs_and_are_both_right(case: Case, files: Path) -> None:
    dataset = case.build(files)
    left, right = [], []
    with iter(dataset) as one, iter(dataset) as other:
        assert (one.epoch, other.epoch) == (0, 1)
        for (a, b), _ in zip(zip_longest(one, other, fillvalue=None), range(case.limit or 1000), strict=False):
            left += [] if a is None else [a]
            right += [] if b is None else [b]
    assert_same_elements(left, collect(case.build(files), 0, case.limit), "the first")
    assert_same_elements(right, collect(case.build(files), 1, case.limit), "the second")


def test_seed_option_changes_what_is_not_seeded() -> None:
    def drawn(seed: int | None, option: int) -> list[object]:
        dataset = Dataset.range(30).shuffle(seed=seed).random_map(noisy, seed=seed)
        return [freeze(e) for e in collect(dataset.with_options(Options(seed=option)))]

    assert drawn(None, 1) != drawn(None, 2)
    assert drawn(None, 1) == drawn(None, 1)
    assert drawn(4, 1) == drawn(4, 2)


def test_entropy_seed_differs_each_time_and_travels_in_the_state() -> None:
    dataset = Dataset.range(50).shuffle().with_options(Options(seed="entropy"))
    one, other = collect(dataset), collect(dataset)
    assert one != other
    with dataset.iterator(epoch=0) as iterator:
        before = [next(iterator) for _ in range(20)]
        state = iterator.state_dict()
        rest = list(iterator)
    with dataset.iterator(epoch=0) as again:
        again.load_state_dict(state)
        assert list(again) == rest
    assert sorted(before + rest) == list(range(50))


def test_passes_of_a_repeat_differ_and_the_first_is_that_without_it() -> None:
    once = collect(Dataset.range(40).shuffle().random_map(noisy))
    twice = collect(Dataset.range(40).shuffle().random_map(noisy).repeat(2))
    assert_same_elements(twice[:40], once)
    assert [e[0] for e in twice[:40]] != [e[0] for e in twice[40:]]
    draws = {int(e[0]): [d[1:] for d in twice if d[0] == e[0]] for e in once}
    assert all(a != b for a, b in draws.values())


def test_draws_belong_to_the_element_not_to_its_place() -> None:
    plain = {int(e[0]): e for e in collect(Dataset.range(40).random_map(noisy, seed=1))}
    stripped = collect(Dataset.range(40).random_map(noisy, seed=1).shuffle().skip(7).batch(3).unbatch())
    assert_same_elements(stripped, [plain[int(e[0])] for e in stripped])


def test_random_ops_and_the_rng_of_a_random_map_draw_apart() -> None:
    image = Dataset.from_tensor_slices([[[[0], [1]]]] * 400)

    def both(pixels: object, rng: ps.Rng) -> tuple[bool, bool]:
        flipped = ps.image.random_flip_left_right(pixels)
        return bool(flipped[0, 0, 0] == 1), rng.random() < 0.5

    agreeing = sum(a == b for a, b in collect(image.random_map(both)))
    assert 120 < agreeing < 280  # 400 fair coins: 200, standard deviation 10


def test_two_random_maps_draw_apart() -> None:
    drawn = Dataset.range(50).random_map(lambda x, rng: rng.random()).random_map(lambda x, rng: (x, rng.random()))
    assert all(a != b for a, b in collect(drawn))


def test_prefetch_options_and_cache_change_no_draw() -> None:
    plain = collect(Dataset.range(40).shuffle().random_map(noisy), 3)
    dressed = Dataset.range(40).prefetch(2).cache().shuffle().prefetch(1).with_options(Options(cpu_budget=1))
    assert_same_elements(collect(dressed.random_map(noisy).prefetch(1), 3), plain)


def test_registry_says_what_varies() -> None:
    assert sum(case.varies for case in CASES.values()) > 30
