"""Every law at once, over pipelines that nobody thought of."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import UNKNOWN_CARDINALITY, Options
from penstock.errors import NotIndexableError, NotResumableError
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
@given(described=pipelines(), options=ways())
def test_what_can_be_indexed_can_be_resumed(described: Described, options: Options) -> None:
    dataset = described.make()
    elements = collect(dataset, 0)
    try:
        indexed = [dataset[place] for place in range(len(elements))]
        dataset.iterator().state_dict()
    except (NotIndexableError, NotResumableError):
        assert dataset.explain().count("resume: not possible")
        return
    assert list(map(freeze, indexed)) == list(map(freeze, elements))
    way = Options(block_size=options.block_size, executor=options.executor)
    assert_resumable(lambda: described.make().with_options(way), epoch=1, steps=range(0, len(elements) + 1, 3))


@settings(max_examples=60)
@given(described=pipelines())
def test_cached_equals_uncached(described: Described) -> None:
    plain = collect(described.make(), 0)
    kept = described.make().cache()
    assert_same_elements(collect(kept, 0), plain, str(described))
    assert_same_elements(collect(kept, 1), plain, f"{described}, from the cache")
