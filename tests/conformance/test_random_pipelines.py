"""Every law at once, over pipelines that nobody thought of."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import UNKNOWN_CARDINALITY, Dataset, Options
from penstock.errors import NotIndexableError
from penstock.testing import assert_resumable, assert_same_elements, collect, freeze
from tests.conformance.strategies import Described, pipelines, ways
from tests.conformance.test_same_bytes import SLOW


@settings(max_examples=250)
@given(described=pipelines(), options=st.lists(ways(), min_size=3, max_size=3), epoch=st.integers(0, 3))
def test_same_bytes_however_it_runs(described: Described, options: list[Options], epoch: int) -> None:
    twin = collect(described.make().with_options(SLOW), epoch)
    for way in options:
        dataset = described.make().with_options(way)
        assert_same_elements(collect(dataset, epoch), twin, f"{described} under {way}")
        assert_same_elements(collect(dataset, epoch), twin, f"{described} under {way}, again")
    if "repeat()" not in described.text:  # an endless repeat of what turns out empty ends, as in tf.data
        assert described.make().cardinality() in (len(twin), UNKNOWN_CARDINALITY)


@settings(max_examples=60)
@given(described=pipelines(), options=ways(), data=st.data())
def test_anything_resumes_and_what_can_be_indexed_gives_the_same(
    described: Described, options: Options, data: st.DataObject
) -> None:
    """Streams too: they go on from marks, index-driven pipelines from a position."""
    dataset = described.make()
    elements = collect(dataset, 0)
    if is_indexable(dataset):
        assert [freeze(dataset[place]) for place in range(len(elements))] == list(map(freeze, elements))
    way = Options(block_size=options.block_size, executor=options.executor)
    whole = collect(described.make(), 1)
    steps = {0, len(whole), *data.draw(st.lists(st.integers(0, len(whole)), max_size=3), label="steps")}
    assert_resumable(lambda: described.make().with_options(way), epoch=1, steps=sorted(steps))


def is_indexable(dataset: Dataset) -> bool:
    try:
        len(dataset[:0])
    except NotIndexableError:
        return False
    return True


@settings(max_examples=60)
@given(described=pipelines())
def test_cached_equals_uncached(described: Described) -> None:
    plain = collect(described.make(), 0)
    kept = described.make().cache()
    assert_same_elements(collect(kept, 0), plain, str(described))
    assert_same_elements(collect(kept, 1), plain, f"{described}, from the cache")
