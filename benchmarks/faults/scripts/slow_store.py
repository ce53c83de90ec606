"""A bucket far away: a local HTTP server that answers each request late, and few at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextmanager
def serving(files: list[str], latency_s: float, at_once: int) -> Iterator[list[str]]:
    """URLs of `files`, from a server in a process of its own that runs while open."""
    arguments = [str(latency_s), str(at_once), *sorted(set(files))]
    process = subprocess.Popen(
        [sys.executable, __file__, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        port = process.stdout.readline().strip()
        yield [f"http://127.0.0.1:{port}{file}" for file in files]
    finally:
        process.stdin.close()
        process.wait()


def serve(latency_s: float, at_once: int, files: list[str]) -> None:
    lanes = threading.Semaphore(at_once)
    contents = {file: Path(file).read_bytes() for file in files}

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with lanes:
                time.sleep(latency_s)
            body = contents[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{len(body)}"')
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    serve(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
