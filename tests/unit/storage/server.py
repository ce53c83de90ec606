"""An HTTP server on loopback that serves bytes from memory, and plants what can go wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass(slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    range: str | None
    if_match: str | None


@dataclass(slots=True)
class Served:
    """An object: what is sent for it, and what goes wrong first.

    plans: one a request, from the front: a status; "cut": half of the bytes, then the end of the connection; "drop": no
    answer; "wrong length": fewer bytes than a Content-Length that says all. A status above 1000 is that less 1000, with
    Retry-After. After the last plan it is served well.
    """

    data: bytes
    etag: str | None = '"1"'
    modified_s: float | None = None
    plans: list[int | str] = field(default_factory=list)
    wait_s: float = 0.0
    has_head: bool = True
    has_ranges: bool = True
    has_length: bool = True
    heeds_match: bool = True


class ObjectServer(ThreadingHTTPServer):
    """`objects` by path; `asked`: every request so far; `most`: how many there were at once."""

    request_queue_size = 1024
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, Served] = {}
        self.asked: list[Asked] = []
        self.lock = threading.Condition()
        self.now = self.most = 0
        self.hold_for, self.hold_after = 0, 0  # answer all but so many only when so many have come at once

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def put(self, path: str, data: bytes, **said: object) -> str:
        """Serve `data` there; its URL."""
        self.objects[path] = Served(data, **said)  # type: ignore[arg-type]  # the fields by name
        return self.url(path)

    def gets(self, path: str | None = None) -> list[Asked]:
        return [one for one in self.asked if one.method == "GET" and path in (None, one.path)]

    def enter(self, asked: Asked) -> None:
        with self.lock:
            self.asked.append(asked)
            self.now += 1
            self.most = max(self.most, self.now)
            self.lock.notify_all()
            if len(self.asked) > self.hold_after:
                self.lock.wait_for(lambda: self.most >= self.hold_for, timeout=20)

    def leave(self) -> None:
        with self.lock:
            self.now -= 1

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients give up as they please."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ObjectServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name of its base
        pass

    def do_GET(self) -> None:  # likewise
        self._serve()

    def do_HEAD(self) -> None:  # likewise
        self._serve()

    def _serve(self) -> None:
        path = unquote(self.path.partition("?")[0])
        headers = self.headers
        self.server.enter(Asked(self.command, self.path, headers.get("Range"), headers.get("If-Match")))
        self._answer(self.server.objects.get(path))

    def _answer(self, served: Served | None) -> None:
        if served is None:
            return self._send(404, b"no such thing")
        if served.wait_s:
            time.sleep(served.wait_s)
        if self.command == "HEAD" and not served.has_head:
            return self._send(403, b"")
        plan = served.plans.pop(0) if served.plans else 200
        if plan == "drop":
            self.close_connection = True
            return self.server.leave()
        if isinstance(plan, int) and plan != 200:
            return self._send(plan % 1000, b"planted", **({"Retry-After": "1"} if plan > 1000 else {}))
        match = self.headers.get("If-Match")
        if served.heeds_match and match is not None and match != served.etag:
            return self._send(412, b"")
        return self._data(served, plan)

    def _data(self, served: Served, plan: int | str) -> None:
        data, status, more = served.data, 200, {}
        if served.etag is not None:
            more["ETag"] = served.etag
        if served.modified_s is not None:
            more["Last-Modified"] = formatdate(served.modified_s, usegmt=True)
        asked = self.headers.get("Range")
        if asked is not None and served.has_ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(len(data), int(last) + 1 if last else len(data))
            if start >= len(data):
                return self._send(416, b"", **{"Content-Range": f"bytes */{len(data)}"})
            more["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
            data, status = data[start:stop], 206
        if not served.has_length:
            self.close_connection = True
            return self._send(status, data, length=None, **more)
        if plan in ("cut", "wrong length"):
            self.close_connection = True
            return self._send(status, data[: len(data) // 2], length=len(data), **more)
        return self._send(status, data, **more)

    def _send(self, status: int, body: bytes, length: int | None = -1, **headers: str) -> None:
        """In one write: two would wait for each other on loopback."""
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        if length is not None:
            lines.append(f"Content-Length: {len(body) if length < 0 else length}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if self.close_connection:
            lines.append("Connection: close")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        self.server.leave()  # before the answer, which the next request may follow at once
        self.wfile.write(head + (b"" if self.command == "HEAD" else body))


@contextmanager
def serving() -> Iterator[ObjectServer]:
    """A server that runs while open."""
    with ObjectServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
