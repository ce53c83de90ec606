from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.storage import ranges
from penstock.storage.ranges import Request, coalesced

REQUESTS = st.lists(
    st.builds(
        lambda url, start, length: Request(url, start, None if length is None else start + length),
        st.sampled_from("ab"),
        st.integers(0, 200),
        st.none() | st.integers(0, 60),
    ),
    max_size=12,
)


@given(REQUESTS, st.integers(0, 40))
def test_each_request_is_answered_by_one_that_covers_it(requests: list[Request], gap: int) -> None:
    joined = coalesced(requests, range(len(requests)), gap)
    assert sorted(place for each in joined for place in each.places) == list(range(len(requests)))
    for each in joined:
        for place in each.places:
            wanted = requests[place]
            assert wanted.url == each.request.url
            assert each.request.start <= wanted.start
            if wanted.stop is None:
                assert each.request == wanted
            else:
                assert each.request.stop is not None
                assert wanted.stop <= each.request.stop


@given(REQUESTS, st.integers(0, 40))
def test_nothing_wider_than_the_gap_is_read_for_nothing(requests: list[Request], gap: int) -> None:
    for each in coalesced(requests, range(len(requests)), gap):
        wanted = set[int]()
        for place in each.places:
            start, stop = requests[place].start, requests[place].stop or 0
            wanted.update(range(start, max(stop, start + 1)))  # a request of no bytes has a place all the same
        missing = 0
        for byte in range(each.request.start, each.request.stop or 0):
            missing = 0 if byte in wanted else missing + 1
            assert missing <= gap


def test_close_ranges_are_one_request_and_far_ones_are_not() -> None:
    requests = [Request("a", 100, 110), Request("a", 0, 10), Request("a", 14, 20), Request("b", 12, 13)]
    joined = coalesced(requests, range(4), 4)
    assert [(each.request.start, each.request.stop, each.places) for each in joined] == [
        (100, 110, (0,)),
        (0, 20, (1, 2)),
        (12, 13, (3,)),
    ]


def test_joined_requests_have_a_longest() -> None:
    half = ranges.MOST_BYTES // 2
    requests = [Request("a", place * half, (place + 1) * half) for place in range(4)]
    assert [each.places for each in coalesced(requests, range(4), 0)] == [(0, 1), (2, 3)]


def test_only_the_places_given_are_asked_for() -> None:
    requests = [Request("a"), Request("b"), Request("c")]
    assert [each.request.url for each in coalesced(requests, [2, 0], 0)] == ["a", "c"]
