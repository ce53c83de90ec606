"""A store that speaks S3, on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import penstock as ps
from penstock.errors import NoFilesError, ReadError
from penstock.storage import process
from penstock.storage.objects import facts_of, names_like, read

moto_server = pytest.importorskip("moto.server")

OBJECTS = {
    "a.txt": b"1\n2\n",
    "photos/1.jpg": b"one",
    "photos/2.jpg": b"two",
    "photos/more/3.jpg": b"three",
    "photos/read me.txt": b"four",
}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    import boto3

    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket="photos-1")
    for key, data in OBJECTS.items():
        client.put_object(Bucket="photos-1", Key=key, Body=data)
    yield "s3://photos-1"
    process.close()
    for key in OBJECTS:
        client.delete_object(Bucket="photos-1", Key=key)
    client.delete_bucket(Bucket="photos-1")


def test_objects_are_read_by_range_and_described(bucket: str) -> None:
    assert read(f"{bucket}/photos/read me.txt") == b"four"
    assert read(f"{bucket}/photos/more/3.jpg", 1, 3) == b"hr"
    (facts,) = facts_of([f"{bucket}/a.txt"])
    assert facts.size == 4
    assert facts.etag
    assert facts.modified_s > 0


def test_missing_objects_and_buckets_are_errors(bucket: str) -> None:
    for url in (f"{bucket}/none", "s3://no-such-bucket/a"):
        with pytest.raises(ReadError, match="no such object") as caught:
            read(url)
        assert caught.value.where == url


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("photos/*.jpg", ["photos/1.jpg", "photos/2.jpg"]),
        ("photos/**/*.jpg", ["photos/1.jpg", "photos/2.jpg", "photos/more/3.jpg"]),
        ("*/*/*", ["photos/more/3.jpg"]),
        ("*", ["a.txt"]),
        ("photos/1.jpg", ["photos/1.jpg"]),
        ("photos/9.jpg", []),
    ],
)
def test_names_are_listed_like_a_pattern(bucket: str, pattern: str, names: list[str]) -> None:
    assert names_like(f"{bucket}/{pattern}") == [f"{bucket}/{name}" for name in names]


def test_a_pipeline_lists_and_reads(bucket: str) -> None:
    files = ps.Dataset.list_files(f"{bucket}/photos/*.jpg", shuffle=False)
    dataset = files.map(lambda url: (url, ps.io.read_file(url)))
    assert list(dataset) == [(f"{bucket}/photos/1.jpg", b"one"), (f"{bucket}/photos/2.jpg", b"two")]
    assert list(ps.TextLineDataset(f"{bucket}/a.txt")) == [b"1", b"2"]


def test_a_pattern_that_matches_nothing_is_an_error(bucket: str) -> None:
    with pytest.raises(NoFilesError):
        ps.Dataset.list_files(f"{bucket}/*.png")
