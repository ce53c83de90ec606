"""Pipelines over objects behind URLs."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import DecodeError, InvalidArgumentError, NoFilesError, ReadError, UserFunctionError
from penstock.options import Options, RemoteOptions
from tests.unit.storage.server import ObjectServer

QUICK = RemoteOptions(attempts=2, backoff_s=0.001)


def served(server: ObjectServer, count: int) -> list[str]:
    return [server.put(f"/{number}", b"%d " % number * 10) for number in range(count)]


def unseen(url: str) -> bytes:
    """As a function that cannot be compiled reads."""
    return bytes(reversed(bytes(reversed(ps.io.read_file(url)))))


READS: dict[str, Callable[[str], Any]] = {
    "compiled": lambda url: ps.io.read_file(url),
    "python": unseen,
    "a part": lambda url: ps.io.read_file(url, 1, 3),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    "options", [Options(), Options(executor="inline"), Options(block_size=1), Options(block_size=7)]
)
def test_maps_read_objects_in_order(server: ObjectServer, read: str, options: Options) -> None:
    urls = served(server, 40)
    function = READS[read]
    wanted = [function(url) for url in urls]
    assert wanted[3] == (b"3 " * 10 if read != "a part" else b" 3 ")
    assert list(ps.Dataset.from_tensor_slices(urls).map(function).with_options(options)) == wanted


@pytest.mark.parametrize("read", ["compiled", "python"])
def test_many_requests_are_in_flight(server: ObjectServer, read: str) -> None:
    urls = served(server, 600)
    server.hold_for, server.hold_after = 64, 8  # but for the first, nothing is answered before so many wait at once
    dataset = ps.Dataset.from_tensor_slices(urls).map(READS[read])
    assert sum(map(len, dataset)) == sum(len(one.data) for one in server.objects.values())
    assert server.most >= 64


def test_many_requests_are_in_flight_below_a_batch(server: ObjectServer) -> None:
    urls = served(server, 300)
    server.hold_for, server.hold_after = 64, 8
    dataset = ps.Dataset.from_tensor_slices(urls).map(READS["compiled"]).batch(32)
    assert [len(batch) for batch in dataset] == [32] * 9 + [12]
    assert server.most >= 64


def test_no_more_are_in_flight_than_was_said(server: ObjectServer) -> None:
    urls = served(server, 60)
    for one in server.objects.values():
        one.wait_s = 0.002
    dataset = ps.Dataset.from_tensor_slices(urls).map(READS["compiled"])
    options = Options(remote=RemoteOptions(max_in_flight=5))
    assert len(list(dataset.with_options(options))) == 60
    assert 2 <= server.most <= 5


def test_each_object_is_read_about_once(server: ObjectServer) -> None:
    """What a failure, or the check of a program, needs again is not asked for again."""
    urls = served(server, 100)
    server.objects["/50"].plans = [404] * 99
    dataset = ps.Dataset.from_tensor_slices(urls).map(READS["compiled"], on_error="skip")
    with dataset.iterator() as iterator:
        assert len(list(iterator)) == 99
        (skipped,) = iterator.skipped
    assert "/50" in skipped.error
    assert "404 Not Found" in skipped.error
    assert max(len(server.gets(f"/{number}")) for number in range(100)) == 1


def test_the_first_rows_cost_one_round_trip(server: ObjectServer) -> None:
    """A function is tried on its first rows before it is compiled: these are asked for with the rest of their block."""
    urls = served(server, 8)
    server.hold_for = 8
    assert len(list(ps.Dataset.from_tensor_slices(urls).map(READS["compiled"]))) == 8
    assert len(server.gets()) == 8


def test_functions_that_read_few_rows_are_found_out(server: ObjectServer) -> None:
    urls = served(server, 2000)

    def seldom(number: int, url: str) -> int:
        return len(ps.io.read_file(url)) if number % 50 == 0 else 0

    assert sum(ps.Dataset.from_tensor_slices(urls).enumerate().map(seldom, compile=False)) > 0
    assert len(server.gets()) < 1000


def test_faults_that_may_pass_are_tried_again(server: ObjectServer) -> None:
    urls = served(server, 30)
    for number in range(0, 30, 3):
        server.objects[f"/{number}"].plans = [503]
    dataset = ps.Dataset.from_tensor_slices(urls).map(READS["compiled"]).with_options(Options(remote=QUICK))
    assert list(dataset) == [b"%d " % number * 10 for number in range(30)]


def test_a_fault_that_may_pass_is_no_bad_element(server: ObjectServer) -> None:
    urls = served(server, 10)
    server.objects["/4"].plans = [503] * 99
    dataset = ps.Dataset.from_tensor_slices(urls).map(READS["compiled"], on_error="skip")
    with pytest.raises(UserFunctionError, match="503 Service Unavailable"):
        list(dataset.with_options(Options(remote=QUICK)))


def test_retry_asks_anew(server: ObjectServer) -> None:
    urls = served(server, 10)
    server.objects["/4"].plans = [503] * 3
    dataset = ps.Dataset.from_tensor_slices(urls).map(READS["compiled"], on_error=ps.Retry(5, 0.001))
    assert len(list(dataset.with_options(Options(remote=RemoteOptions(attempts=1))))) == 10


def test_a_closed_iterator_waits_for_no_answer(server: ObjectServer) -> None:
    urls = served(server, 300)
    server.hold_for, server.hold_after = 10_000, 20
    iterator = ps.Dataset.from_tensor_slices(urls).map(READS["compiled"]).iterator()
    assert next(iterator) == b"0 " * 10
    iterator.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("penstock-worker")]
    with server.lock:
        server.hold_for = 0
        server.lock.notify_all()


def test_a_process_that_ends_waits_for_no_answer(server: ObjectServer) -> None:
    urls = served(server, 300)
    server.hold_for, server.hold_after = 10_000, 20
    script = f"""
import penstock as ps
kept = ps.Dataset.from_tensor_slices({urls!r}).map(ps.io.read_file).iterator()
next(kept)
"""
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True, env=dict(os.environ))
    with server.lock:
        server.hold_for = 0
        server.lock.notify_all()


def test_local_and_remote_files_mix(server: ObjectServer, tmp_path: Any) -> None:
    (tmp_path / "here").write_bytes(b"here")
    paths = [server.put("/there", b"there"), str(tmp_path / "here")] * 10
    assert list(ps.Dataset.from_tensor_slices(paths).map(READS["compiled"])) == [b"there", b"here"] * 10


def test_image_passes_take_objects(server: ObjectServer, tmp_path: Any) -> None:
    draw = np.random.default_rng(0)
    paths, urls = [], []
    for number in range(12):
        jpeg = ps.io.encode_jpeg(draw.integers(0, 255, (40, 50, 3), dtype=np.uint8))
        (tmp_path / f"{number}.jpg").write_bytes(jpeg)
        paths.append(str(tmp_path / f"{number}.jpg"))
        urls.append(server.put(f"/{number}.jpg", jpeg))

    def prepare(path: str) -> Any:
        image = ps.io.decode_jpeg(ps.io.read_file(path), channels=3)
        return ps.image.random_flip_left_right(ps.image.resize(image, (16, 16)))

    def images(names: list[str]) -> list[Any]:
        return list(ps.Dataset.from_tensor_slices(names).map(prepare).batch(4))

    for here, there in zip(images(paths), images(urls), strict=True):
        np.testing.assert_array_equal(here, there)


def test_a_broken_image_names_its_url(server: ObjectServer) -> None:
    url = server.put("/a.jpg", b"no jpeg")
    dataset = ps.Dataset.from_tensor_slices([url]).map(lambda path: ps.io.decode_jpeg(ps.io.read_file(path)))
    with pytest.raises(UserFunctionError, match=url):
        list(dataset)


def test_worker_processes_read_objects(server: ObjectServer, warm_pool: None) -> None:
    urls = served(server, 20)
    dataset = ps.Dataset.from_tensor_slices(urls).map(READS["compiled"], executor="processes")
    assert list(dataset) == [b"%d " % number * 10 for number in range(20)]


# -- files ------------------------------------------------------------------------------------------------------------


def test_text_is_streamed(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.storage.stream.FIRST_BYTES", 100)
    monkeypatch.setattr("penstock.storage.stream.MOST_BYTES", 400)
    lines = [b"line %d" % number for number in range(500)]
    plain = server.put("/a.txt", b"\n".join(lines))
    packed = server.put("/a.txt.gz", gzip.compress(b"\n".join(lines)))
    assert list(ps.TextLineDataset(plain)) == lines
    assert list(ps.TextLineDataset([packed, packed], "GZIP")) == lines * 2
    assert list(ps.TextLineDataset(ps.Dataset.from_tensor_slices([plain]))) == lines
    assert sorted(ps.TextLineDataset([plain, plain], num_parallel_reads=2)) == sorted(lines * 2)


def test_streams_resume(server: ObjectServer) -> None:
    from penstock.testing import assert_resumable

    url = server.put("/a.txt", b"\n".join(b"%d" % number for number in range(30)))
    assert_resumable(lambda: ps.TextLineDataset(url).batch(4))


def test_a_shuffle_over_streamed_text_keeps_a_buffer(server: ObjectServer) -> None:
    url = server.put("/a.txt", b"\n".join(b"%d" % number for number in range(50)))
    assert sorted(map(int, ps.TextLineDataset(url).shuffle(10))) == list(range(50))


def test_records_and_rows_are_streamed(server: ObjectServer) -> None:
    records = server.put("/r", b"head" + bytes(range(60)))
    dataset = ps.FixedLengthRecordDataset(records, 6, header_bytes=4)
    assert list(dataset) == [bytes(range(start, start + 6)) for start in range(0, 60, 6)]
    rows = server.put("/r.csv", b"a,b\n1,2.5\n3,4.5\n")
    assert list(ps.CsvDataset(rows, [int, float], header=True)) == [(1, 2.5), (3, 4.5)]


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_tfrecords_are_streamed(server: ObjectServer, tmp_path: Any, compression: str | None) -> None:
    from penstock.testing import assert_resumable

    records = [b"record %d " % number * 50 for number in range(40)]
    with ps.io.TFRecordWriter(str(tmp_path / "a"), compression) as writer:
        for record in records:
            writer.write(record)
    urls = [server.put(f"/{name}", (tmp_path / "a").read_bytes()) for name in "ab"]
    assert list(ps.TFRecordDataset(urls, compression)) == records * 2
    assert sorted(ps.TFRecordDataset(urls, compression, num_parallel_reads=2).shuffle(7)) == sorted(records * 2)
    assert_resumable(lambda: ps.TFRecordDataset(urls, compression).batch(8), steps=[0, 3, 7])


def test_damaged_tfrecords_name_their_url(server: ObjectServer, tmp_path: Any) -> None:
    with ps.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        writer.write(b"record")
    url = server.put("/a", (tmp_path / "a").read_bytes()[:-5] + b"x" * 5)
    with pytest.raises(DecodeError, match=url):
        list(ps.TFRecordDataset(url))


def test_files_are_measured_at_once(server: ObjectServer) -> None:
    urls = served(server, 70)
    server.hold_for = 64
    ps.TextLineDataset(urls)
    assert {one.method for one in server.asked} == {"HEAD"}


def test_a_missing_file_is_told_with_the_users_line(server: ObjectServer) -> None:
    with pytest.raises(ReadError, match=r"TextLineDataset at .*test_pipelines.py.*no such object"):
        ps.TextLineDataset(server.url("/none"))


def test_a_file_that_changes_is_an_error(server: ObjectServer) -> None:
    url = server.put("/a.txt", b"1\n2\n")
    dataset = ps.TextLineDataset(url)
    server.put("/a.txt", b"3\n4\n", etag='"2"')
    with pytest.raises(ReadError, match=r"/a.txt: the object has changed"):
        list(dataset)


def test_a_file_that_vanishes_is_an_error(server: ObjectServer) -> None:
    url = server.put("/a.txt", b"1\n2\n")
    dataset = ps.TextLineDataset(url)
    del server.objects["/a.txt"]
    with pytest.raises(ReadError, match=r"/a.txt: no such object"):
        list(dataset)


def test_mapped_arrays_have_to_be_here(server: ObjectServer) -> None:
    saved = io.BytesIO()
    np.save(saved, np.arange(10))
    with pytest.raises(InvalidArgumentError, match="copy it here"):
        ps.Dataset.from_array_file(server.put("/a.npy", saved.getvalue()))


def test_folders_of_classes_have_to_be_here() -> None:
    with pytest.raises(InvalidArgumentError, match="list_files"):
        ps.Dataset.from_folder("s3://bucket/photos")


def test_names_behind_http_cannot_be_listed(server: ObjectServer) -> None:
    with pytest.raises(InvalidArgumentError, match=r"list_files at .* cannot be listed"):
        ps.Dataset.list_files(server.url("/*.jpg"))
    url = server.put("/a.jpg", b"")
    assert list(ps.Dataset.list_files(url)) == [url]
    with pytest.raises(NoFilesError):
        ps.Dataset.list_files(server.url("/b.jpg"))


def test_objects_are_kept_on_disk(server: ObjectServer, tmp_path: Any) -> None:
    urls = served(server, 20)
    options = Options(remote=RemoteOptions(cache_directory=tmp_path / "cache", cache_bytes="1 MiB"))
    dataset = ps.Dataset.from_tensor_slices(urls).shuffle().map(READS["compiled"]).with_options(options)
    first, second = sorted(dataset), sorted(dataset)
    assert first == second
    assert len(server.asked) == 20


@pytest.mark.parametrize("streams", [True, False])
def test_a_cache_of_objects_is_never_stale(server: ObjectServer, tmp_path: Any, streams: bool) -> None:
    def lines() -> list[bytes]:
        if streams:
            dataset = ps.TextLineDataset(server.url("/0"))
        else:
            dataset = ps.Dataset.from_tensor_slices([server.url("/0")]).map(READS["compiled"])
        return list(dataset.cache(tmp_path / "cache"))

    server.put("/0", b"before")
    assert lines() == lines() == [b"before"]
    assert len(server.gets()) == 1
    server.put("/0", b"after", etag='"2"')
    assert lines() == [b"after"]
