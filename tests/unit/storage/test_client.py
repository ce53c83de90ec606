"""Reads over a real connection, through obstore."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest

from penstock.errors import InvalidArgumentError, ReadError, may_pass
from penstock.options import RemoteOptions
from penstock.storage.client import ObjectFacts, ObstoreClient, _from_environment
from penstock.storage.fault import Fault, Kind
from penstock.storage.objects import facts_of, read, read_many
from penstock.storage.ranges import Request
from penstock.storage.stream import ObjectStream
from penstock.storage.surroundings import reading_for
from tests.unit.storage.server import ObjectServer

DATA = bytes(range(256)) * 40
QUICK = RemoteOptions(attempts=3, backoff_s=0.001, timeout_s=5.0, coalesce_bytes=0)


def failed(url: str, *, start: int = 0, stop: int | None = None) -> ReadError:
    with pytest.raises(ReadError) as caught, reading_for(QUICK, None, None):
        read(url, start, stop)
    return caught.value


def test_read_gives_the_object(server: ObjectServer) -> None:
    assert read(server.put("/a b.bin", DATA)) == DATA
    assert read(server.put("/empty", b"")) == b""


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 10), (5, None), (100, 256), (len(DATA) - 1, None), (len(DATA), None), (3, 3), (0, 0)]
)
def test_read_gives_a_part(server: ObjectServer, start: int, stop: int | None) -> None:
    assert read(server.put("/a", DATA), start, stop) == DATA[start:stop]


@pytest.mark.parametrize(("start", "stop"), [(0, len(DATA) + 1), (len(DATA) + 5, None), (len(DATA) + 5, len(DATA) + 5)])
def test_read_past_the_end_is_an_error(server: ObjectServer, start: int, stop: int | None) -> None:
    error = failed(server.put("/a", DATA), start=start, stop=stop)
    assert error.where == server.url("/a")
    assert error.got is not None
    assert f"{len(DATA)} bytes, expected at least" in error.got


@pytest.mark.parametrize("plan", [500, 503, 1503, 429, "cut", "drop", "wrong length"])
def test_what_may_pass_is_tried_again(server: ObjectServer, plan: int | str) -> None:
    url = server.put("/a", DATA, plans=[plan, plan])
    with reading_for(QUICK, None, None):
        assert read(url) == DATA
    assert len(server.gets()) == 3


@pytest.mark.parametrize(
    ("plan", "said"),
    [(500, "500 Internal Server Error"), (503, "503 Service Unavailable"), ("cut", "cut"), ("drop", "cut")],
)
def test_what_does_not_pass_is_an_error_in_the_end(server: ObjectServer, plan: int | str, said: str) -> None:
    error = failed(server.put("/a", DATA, plans=[plan] * 9))
    assert error.got is not None
    assert said in error.got
    assert "(3 attempts)" in error.got
    assert error.where == server.url("/a")
    assert may_pass(error)
    assert len(server.gets()) == 3


@pytest.mark.parametrize(
    ("plan", "what"), [(404, "no such object"), (403, "may not be read"), (401, "may not be read")]
)
def test_what_will_not_pass_is_told_at_once(server: ObjectServer, plan: int, what: str) -> None:
    error = failed(server.put("/a", DATA, plans=[plan] * 9))
    assert what in error.what
    assert str(plan) in str(error.got)
    assert not may_pass(error)
    assert len(server.gets()) == 1


def test_missing_objects_are_file_not_found(server: ObjectServer) -> None:
    assert isinstance(failed(server.url("/none")).__cause__, FileNotFoundError)


def test_slow_answers_are_given_up(server: ObjectServer) -> None:
    url = server.put("/a", DATA, wait_s=0.2)
    with pytest.raises(Fault) as caught:
        ObstoreClient(0.05).get(url, 0, None, None, tells=False)
    assert caught.value.kind is Kind.CONNECTION
    assert "longer than its time" in caught.value.said


def test_nobody_there_may_pass() -> None:
    with pytest.raises(Fault) as caught:
        ObstoreClient(1.0).get("http://127.0.0.1:1/a", 0, None, None, tells=False)
    assert caught.value.may_pass
    assert caught.value.said == "connection refused"


def test_an_object_that_changed_is_an_error_that_names_it(server: ObjectServer) -> None:
    url = server.put("/a", DATA)
    (facts,) = facts_of([url])
    assert (facts.size, facts.etag) == (len(DATA), '"1"')
    server.put("/a", DATA[::-1], etag='"2"')
    with pytest.raises(ReadError) as caught, reading_for(QUICK, None, None):
        read_many([Request(url, 0, 10, facts)])
    assert "has changed" in caught.value.what
    assert caught.value.where == url
    assert server.gets()[-1].if_match == '"1"'


@pytest.mark.parametrize(
    "now",
    [
        {"data": DATA, "etag": '"2"'},
        {"data": DATA[:-1], "etag": None},
        {"data": DATA, "etag": None, "modified_s": 1_700_000_001.0},
    ],
)
def test_a_change_is_seen_where_the_server_does_not_look(server: ObjectServer, now: dict[str, object]) -> None:
    url = server.put("/a", DATA, modified_s=1_700_000_000.0)
    (facts,) = facts_of([url])
    server.put("/a", heeds_match=False, **now)  # type: ignore[arg-type]  # the fields by name
    with pytest.raises(Fault) as caught:
        ObstoreClient(5.0).get(url, 0, 10, facts, tells=True)
    assert caught.value.kind is Kind.CHANGED


def test_weak_etags_are_compared_here(server: ObjectServer) -> None:
    url = server.put("/a", DATA, etag='W/"1"')
    (facts,) = facts_of([url])
    assert ObstoreClient(5.0).get(url, 0, 10, facts, tells=True)[0] == DATA[:10]
    assert server.gets()[-1].if_match is None
    with pytest.raises(Fault):
        ObstoreClient(5.0).get(url, 0, 10, dataclasses.replace(facts, etag='W/"0"'), tells=True)


def test_urls_that_allow_get_alone_are_measured_too(server: ObjectServer) -> None:
    url = server.put("/a", DATA, has_head=False) + "?X-Amz-Signature=secret"
    assert facts_of([url]) == [ObjectFacts(len(DATA), '"1"')]
    assert read(url) == DATA
    assert server.gets()[-1].path == "/a?X-Amz-Signature=secret"


def test_errors_do_not_tell_a_signature(server: ObjectServer) -> None:
    error = failed(server.put("/a", DATA, plans=[403] * 9) + "?X-Amz-Signature=secret")
    assert "secret" not in str(error)
    assert error.where == server.url("/a?...")


def test_servers_without_ranges_are_told_so(server: ObjectServer) -> None:
    url = server.put("/a", DATA, has_ranges=False)
    assert read(url) == DATA
    assert "for a part of it" in str(failed(url, start=0, stop=10).got)


def test_servers_without_length_are_told_so(server: ObjectServer) -> None:
    error = failed(server.put("/a", DATA, has_length=False))
    assert "how long the object is" in str(error.got)
    assert error.remedy is not None


def test_stream_gives_all_bytes_in_order_and_reads_ahead(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.storage.stream.FIRST_BYTES", 1000)
    monkeypatch.setattr("penstock.storage.stream.MOST_BYTES", 3000)
    url = server.put("/a", DATA)
    stream = ObjectStream(url, facts_of([url])[0])
    parts = []
    while part := stream.read(700):
        parts.append(part)
        assert len(part) <= 700
    assert b"".join(parts) == DATA
    assert {"bytes=0-999", "bytes=1000-2999", "bytes=3000-5999"} < {one.range for one in server.gets()}
    assert {one.if_match for one in server.gets()} == {'"1"'}
    stream.close()
    assert stream.read() == b""


def test_stream_of_an_object_that_changes_is_an_error(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.storage.stream.FIRST_BYTES", 1000)
    monkeypatch.setattr("penstock.storage.stream.MOST_BYTES", 1000)
    url = server.put("/a", DATA)
    stream = ObjectStream(url, facts_of([url])[0])
    assert stream.read() == DATA[:1000]
    server.objects["/a"].etag = '"2"'
    with pytest.raises(ReadError, match="has changed"):
        [stream.read() for _ in range(len(DATA))]


def test_a_forked_child_is_told_that_it_cannot_read(server: ObjectServer) -> None:
    script = f"""
import os, sys
from penstock.errors import ForkedError
from penstock.storage.objects import read
assert read({server.put("/a", DATA)!r}) == bytes(range(256)) * 40
child = os.fork()
if not child:
    try:
        read({server.url("/a")!r})
    except ForkedError:
        os._exit(7)
    os._exit(1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=60, check=False, env=dict(os.environ))
    assert ran.returncode == 7


def test_a_missing_library_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.errors import MissingDependencyError

    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingDependencyError) as caught:
        ObstoreClient(1.0).get("s3://bucket/a", 0, None, None, tells=False)
    assert "penstock[cloud]" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("url", "said", "expected"),
    [
        (
            "s3://b/a",
            {"AWS_ALLOW_HTTP": "true", "AWS_PROXY_URL": "http://p"},
            {"allow_http": True, "proxy_url": "http://p"},
        ),
        ("gs://b/a", {"GOOGLE_ALLOW_HTTP": "0", "AWS_ALLOW_HTTP": "1"}, {}),
        ("az://b/a", {"AZURE_ALLOW_INVALID_CERTIFICATES": "1"}, {"allow_invalid_certificates": True}),
        ("http://h/a", {}, {"allow_http": True}),
        ("https://h/a", {}, {}),
    ],
)
def test_the_environment_says_how_to_connect(
    url: str, said: dict[str, str], expected: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    assert _from_environment(url) == expected


def test_stores_of_each_kind_are_made_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers at these addresses: each store gets as far as asking."""
    for name, value in {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AZURE_STORAGE_ACCOUNT_NAME": "account",
        "AZURE_STORAGE_ACCOUNT_KEY": "a2V5",
        "AZURE_ENDPOINT": "http://127.0.0.1:1",
        "AZURE_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    for url in ("s3://some-bucket/a", "az://container/a"):
        with pytest.raises(Fault, match="connection refused") as caught:
            ObstoreClient(1.0).get(url, 0, None, None, tells=False)
        assert caught.value.may_pass


def test_a_store_that_lacks_its_account_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(InvalidArgumentError, match="Account must be specified"):
        ObstoreClient(1.0).get("az://container/a", 0, None, None, tells=False)
