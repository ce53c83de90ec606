"""An HTTP server that answers each GET of /number after a fixed time with 60 KB that the number decides.

`python -m benchmarks.compare.object_server SECONDS` prints its port. It runs in a process of its own, until its
standard input closes.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.harness import ROOT

SIZE = 60_000
_HEAD = b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: "%d"\r\n\r\n'
_BODY = bytes(range(256)) * (SIZE // 256 + 3)


def body(number: int) -> bytes:
    """What object `number` holds."""
    start = number % 256
    return b"%08d" % number + _BODY[start : start + SIZE - 8]


class _Connection(asyncio.Protocol):
    """One connection; requests on it are answered in order, as they come one at a time."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        while b"\r\n\r\n" in self._held:
            request, _, self._held = self._held.partition(b"\r\n\r\n")
            number = int(request.split(b" ", 2)[1].lstrip(b"/"))
            asyncio.get_running_loop().call_later(self._latency_s, self._answer, number)

    def _answer(self, number: int) -> None:
        self._transport.write(_HEAD % (SIZE, number) + body(number))


async def _serve(latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(latency_s), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def serving(latency_s: float) -> Iterator[str]:
    """The port, as text, of a server that runs while open."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.compare.object_server", str(latency_s)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
