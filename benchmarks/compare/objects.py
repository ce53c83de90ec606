"""2000 objects of 60 KB, each 30 ms away, from a local server in its own process: the same bytes in the same order.

Ours as it comes, beside obstore and aiohttp alone with 64 in flight, and with 256. All share the cores with the server,
which takes some 100 us an object of its own.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.compare.object_server import SIZE, serving
from benchmarks.harness import Contender, Result, compare, interleave

COUNT = 2000
LATENCY_S = 0.03


def _urls(port: str) -> list[str]:
    return [f"http://127.0.0.1:{port}/{number}" for number in range(COUNT)]


def _repetition(epoch: Callable[[], Iterable[bytes]]) -> Callable[[bool], Any]:
    def repeat(prove: bool) -> Any:
        digest = 0
        nbytes = 0
        for data in epoch():
            nbytes += len(data)
            if prove:
                digest = zlib.crc32(data, digest)
        assert nbytes == COUNT * SIZE
        return digest if prove else COUNT

    return repeat


def penstock(port: str) -> Callable[[bool], Any]:
    import penstock as ps

    dataset = ps.Dataset.from_tensor_slices(_urls(port)).map(ps.io.read_file)
    return _repetition(lambda: dataset)


def penstock_python(port: str) -> Callable[[bool], Any]:
    import penstock as ps

    dataset = ps.Dataset.from_tensor_slices(_urls(port)).map(ps.io.read_file, compile=False)
    return _repetition(lambda: dataset)


def penstock_batches(port: str) -> Callable[[bool], Any]:
    import penstock as ps

    dataset = ps.Dataset.from_tensor_slices(_urls(port)).map(ps.io.read_file).batch(32)
    return _repetition(lambda: (data for batch in dataset for data in batch))


def _gathered(fetch: Callable[[int], Any], in_flight: int) -> Callable[[], list[bytes]]:
    """All objects, by so many coroutines that each take the next number."""

    async def everything() -> list[bytes]:
        found: list[bytes] = [b""] * COUNT
        numbers = iter(range(COUNT))

        async def work() -> None:
            for number in numbers:
                found[number] = await fetch(number)

        await asyncio.gather(*[work() for _ in range(in_flight)])
        return found

    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(everything())


def obstore(port: str, in_flight: str) -> Callable[[bool], Any]:
    import obstore as obs
    from obstore.store import HTTPStore

    store = HTTPStore.from_url(f"http://127.0.0.1:{port}", client_options={"allow_http": True})

    async def fetch(number: int) -> bytes:
        answer = await obs.get_async(store, str(number))
        return (await answer.bytes_async()).to_bytes()

    return _repetition(_gathered(fetch, int(in_flight)))


def obstore_threads(port: str, in_flight: str) -> Callable[[bool], Any]:
    import obstore as obs
    from obstore.store import HTTPStore

    store = HTTPStore.from_url(f"http://127.0.0.1:{port}", client_options={"allow_http": True})
    pool = ThreadPoolExecutor(int(in_flight))
    return _repetition(lambda: pool.map(lambda number: obs.get(store, str(number)).bytes().to_bytes(), range(COUNT)))


def aiohttp(port: str, in_flight: str) -> Callable[[bool], Any]:
    import aiohttp as http

    urls = _urls(port)
    sessions: list[http.ClientSession] = []

    async def fetch(number: int) -> bytes:
        if not sessions:
            sessions.append(http.ClientSession(connector=http.TCPConnector(limit=int(in_flight))))
        async with sessions[0].get(urls[number]) as answer:
            return await answer.read()

    return _repetition(_gathered(fetch, int(in_flight)))


def run(rounds: int) -> Result:
    with serving(LATENCY_S) as port:
        here = "benchmarks.compare.objects"
        contenders = [
            Contender("penstock", f"{here}:penstock", (port,)),
            Contender("penstock, Python function", f"{here}:penstock_python", (port,)),
            Contender("penstock, batches of 32", f"{here}:penstock_batches", (port,)),
            *(
                Contender(f"{name}, {in_flight} in flight", f"{here}:{target}", (port, in_flight))
                for in_flight in ("64", "256")
                for name, target in (
                    ("aiohttp", "aiohttp"),
                    ("obstore", "obstore"),
                    ("obstore in threads", "obstore_threads"),
                )
            ),
        ]
        what = f"{COUNT} objects of {SIZE} bytes behind {LATENCY_S * 1000:.0f} ms, {rounds} rounds"
        return compare("objects", what, interleave(contenders, rounds), "objects/s")
