"""A link between two processes: messages in order, their arrays through shared memory.

A message is any picklable object. Arrays in it travel out of band (pickle protocol 5): small ones in the frame, else
each byte is copied once, into a segment that the receiver's arrays then lie over. `stacks` travel beside the message:
rows of one shape are written one after another, so that they arrive as one array.

What is received is unpickled: the other end is this program's own half, over a socket that no one else holds.
"""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from penstock.block.columns import Array
from penstock.engine.buffers import ALIGNMENT
from penstock.engine.executors.shared_memory import Inbox, Outbox, Segment

Stack: TypeAlias = Sequence[Array]  # rows of one shape and dtype

# Bytes that follow, and whether an open file comes with them. What follows is the pickle of: segments to free and to
# forget (see shared_memory), the segment used or None, how many of the pieces are stacks, and the pieces: those of the
# message, the stacks, the pickled message. A piece is bytes, or its place in the segment: (start, size, read-only).
_FRAME = struct.Struct("<I?")
_INLINE_BYTES = 16 * 2**10


class Link:
    """One end. One thread at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._outbox = Outbox()
        self._inbox = Inbox()

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()

    # -- out ------------------------------------------------------------------------------------------------------

    def send(self, message: Any, stacks: Sequence[Stack] = ()) -> None:
        """Raises: OSError: the other side has ended."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        views = [buffer.raw() for buffer in buffers]
        size = len(head) + sum(view.nbytes for view in views) + sum(len(rows) * rows[0].nbytes for rows in stacks)
        if size <= _INLINE_BYTES:
            pieces: list[Any] = [bytes(view) if view.readonly else bytearray(view) for view in views]
            pieces += [_joined(rows) for rows in stacks]
            self._post(None, len(stacks), [*pieces, head])
            return
        places = _places(views, stacks, head)
        segment = self._outbox.lend(places[-1][0] + places[-1][1])
        try:
            contents: list[memoryview | bytes | Stack] = [*views, *stacks, head]
            for content, place in zip(contents, places, strict=True):
                _write(content, segment.memory[place[0] : place[0] + place[1]])
            self._post(segment, len(stacks), places)
        finally:
            segment.close_file()

    def _post(self, segment: Segment | None, stacks: int, pieces: list[Any]) -> None:
        number, file = (None, None) if segment is None else (segment.number, segment.file)
        envelope = (self._inbox.freed(), self._outbox.forgotten(), number, stacks, pieces)
        body = pickle.dumps(envelope, protocol=5)
        frame = _FRAME.pack(len(body), file is not None) + body
        if file is None:
            self._connection.sendall(frame)
            return
        sent = socket.send_fds(self._connection, [frame], [file])
        self._connection.sendall(frame[sent:])

    # -- in -------------------------------------------------------------------------------------------------------

    def receive(self) -> tuple[Any, list[Array]]:
        """The next message, and its stacks, each as bytes [n] uint8. Waits without the GIL.

        Raises: EOFError, OSError: the other side has ended.
        """
        start, files, _, _ = socket.recv_fds(self._connection, _FRAME.size, 1)
        file = files[0] if files else None
        start += self._exactly(_FRAME.size - len(start)) if len(start) < _FRAME.size else b""
        length, _ = _FRAME.unpack(start)
        freed, forgotten, number, stacks, pieces = pickle.loads(self._exactly(length))  # noqa: S301  # our own half
        self._outbox.take_back(freed)
        self._inbox.forget(forgotten)
        if number is not None:
            last = pieces[-1]
            memory = self._inbox.read(number, last[0] + last[1], file)
            pieces = [_piece(memory, *place) for place in pieces]
        buffers, head = pieces[: len(pieces) - 1 - stacks], pieces[-1]
        arrays = [np.frombuffer(p, np.uint8) for p in pieces[len(buffers) : -1]]
        return pickle.loads(head, buffers=buffers), arrays  # noqa: S301  # our own half

    def _exactly(self, count: int) -> bytearray:
        body = bytearray(count)
        view = memoryview(body)
        while view:
            got = self._connection.recv_into(view)
            if not got:
                raise EOFError("the other side has ended")
            view = view[got:]
        return body


def _places(views: Sequence[memoryview], stacks: Sequence[Stack], head: bytes) -> list[tuple[int, int, bool]]:
    """Where each piece goes, aligned, one after another."""
    sizes = [(view.nbytes, view.readonly) for view in views]
    sizes += [(len(rows) * rows[0].nbytes, not all(row.flags.writeable for row in rows)) for rows in stacks]
    sizes.append((len(head), True))
    places, start = [], 0
    for size, is_fixed in sizes:
        places.append((start, size, is_fixed))
        start += -(-size // ALIGNMENT) * ALIGNMENT
    return places


def _write(content: memoryview | bytes | Stack, out: Array) -> None:
    """Shapes: out [n] uint8, as many bytes as the content has. Large copies release the GIL."""
    if not len(out):
        return
    if isinstance(content, memoryview | bytes):
        np.copyto(out, np.frombuffer(content, dtype=np.uint8))
        return
    rows = out.view(content[0].dtype).reshape(len(content), *content[0].shape)
    for place, row in zip(rows, content, strict=True):
        np.copyto(place, row)


def _joined(rows: Stack) -> bytes | bytearray:
    content = b"".join(row.tobytes() for row in rows)
    return bytearray(content) if all(row.flags.writeable for row in rows) else content


def _piece(memory: Array, start: int, size: int, is_fixed: bool) -> Array:
    piece = memory[start : start + size]
    if is_fixed:
        piece.flags.writeable = False
    return piece
