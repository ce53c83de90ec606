"""How a shuffle shuffles: a permutation, windows, a buffer; and that `explain()` says which."""

from __future__ import annotations

import penstock as ps

D = ps.Dataset


def stream(count: int) -> ps.Dataset:
    return D.from_generator(lambda: iter(range(count)), output_signature=ps.Spec((), "int64"))


def first(dataset: ps.Dataset, count: int, epoch: int = 0) -> list[int]:
    return [int(x) for x in dataset.take(count).iterator(epoch=epoch)]


def test_endless_range_is_permuted_window_by_window() -> None:
    shuffled = D.counter().shuffle(50, seed=1)
    order = first(shuffled, 500)
    windows = [order[start : start + 50] for start in range(0, 500, 50)]
    assert [sorted(window) for window in windows] == [list(range(start, start + 50)) for start in range(0, 500, 50)]
    ways = {tuple(x - start for x in window) for start, window in zip(range(0, 500, 50), windows, strict=True)}
    assert len(ways) == 10
    assert order != first(shuffled, 500, epoch=1)


def test_shuffle_of_an_endless_range_has_random_access_and_resumes_by_position() -> None:
    shuffled = D.range(7).repeat().shuffle(10_000, seed=2)
    order = first(shuffled, 30)
    assert [int(shuffled[place]) for place in (0, 17, 29)] == [order[0], order[17], order[29]]
    iterator = shuffled.iterator(epoch=0)
    for _ in range(9):
        next(iterator)
    state = iterator.state_dict()
    again = shuffled.iterator()
    again.load_state_dict(state)
    assert [int(next(again)) for _ in range(5)] == order[9:14]
    iterator.close()
    again.close()


def test_explain_says_how_it_shuffles() -> None:
    assert "a permutation of all 9" in D.range(9).shuffle(3).explain()
    assert "each window of 30 permuted" in D.counter().shuffle(30).explain()
    assert "each window of 16384 permuted" in D.counter().shuffle().explain()
    told = stream(9).shuffle(30, start_early=True).explain()
    assert "a buffer of 30, which delivers from a sixteenth on, because from_generator at" in told


def test_order_of_an_early_shuffle_is_one_of_its_own() -> None:
    plain, early = (
        first(stream(60).shuffle(32, seed=1), 60),
        first(stream(60).shuffle(32, seed=1, start_early=True), 60),
    )
    assert sorted(plain) == sorted(early) == list(range(60))
    assert max(early[:10]) < 32
    assert plain != early
