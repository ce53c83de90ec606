from __future__ import annotations

import pytest

from penstock.errors import InvalidArgumentError
from penstock.storage.url import Address, address_of, is_remote, require_known, scrubbed, shown


@pytest.mark.parametrize(
    ("url", "root", "key"),
    [
        ("s3://bucket/a/b c.jpg", "s3://bucket", "a/b c.jpg"),
        ("s3://bucket/%20?#", "s3://bucket", "%20?#"),  # a name in a store is taken as it is
        ("gs://bucket", "gs://bucket", ""),
        ("http://host:80/a/b.jpg", "http://host:80", "a/b.jpg"),
        ("http://host/a%20b%C3%A9", "http://host", "a bé"),
        ("http://host/a b", "http://host", "a b"),
        ("https://host/a+b", "https://host", "a+b"),
        ("http://host/a%2Fb", "http://host/a%2Fb", ""),
        ("http://host/%E9", "http://host/%E9", ""),
        ("http://host/a//b", "http://host/a//b", ""),
        ("http://host/a/../b", "http://host/a/../b", ""),
        ("http://host/a/", "http://host/a/", ""),
        ("https://host/a?sig=1#top", "https://host/a?sig=1", ""),
    ],
)
def test_address_is_the_store_and_the_name_in_it(url: str, root: str, key: str) -> None:
    assert address_of(url) == Address(root, key)


@pytest.mark.parametrize("url", ["s3://", "http:///a"])
def test_address_needs_a_host(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="without a bucket or host"):
        address_of(url)


@pytest.mark.parametrize(("path", "found"), [("s3://b/k", True), ("/tmp/s3://b", False), ("s3:/b", False)])
def test_remote_paths_begin_with_a_scheme(path: str, found: bool) -> None:
    assert is_remote(path) is found


@pytest.mark.parametrize("path", ["ftp://host/a", "file:///tmp/a", "hdfs://a"])
def test_other_schemes_are_refused(path: str) -> None:
    with pytest.raises(InvalidArgumentError, match="no storage for this scheme"):
        require_known(path)


def test_local_paths_are_let_through() -> None:
    require_known("/a/b.txt")
    require_known("c:/x")


def test_shown_urls_hold_no_secret() -> None:
    url = "https://user:pass@host/a.jpg?X-Amz-Signature=deadbeef"
    assert shown(url) == "https://host/a.jpg?..."
    assert "deadbeef" not in scrubbed(f"GET {url} failed", url)
    assert "pass" not in scrubbed(f"GET {url} failed", url)
    assert shown("s3://bucket/what?") == "s3://bucket/what?"
