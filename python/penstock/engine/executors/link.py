"""A link between two processes: messages in order, their arrays through shared memory.

A message is any picklable object. Arrays in it travel out of band (pickle protocol 5): small ones in the frame, else
each byte is copied once, into a segment that the receiver's arrays then lie over. `stacks` travel beside the message:
rows of one shape are written one after another, so that they arrive as one array, writable.

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

# Bytes that follow, and how many open files come with them. What follows is the pickle of: segments to free and to
# forget (see shared_memory), the segments used (number, whether its file comes), how many of the pieces are stacks, and
# the pieces: those of the message, the stacks, the pickled message. A piece is bytes, or its place: (segment, start,
# size, read-only).
_FRAME = struct.Struct("<IB")
_INLINE_BYTES = 16 * 2**10
_MOST_RESERVED = 8


class Link:
    """One end. One thread at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._outbox = Outbox()
        self._inbox = Inbox()
        self._reserved: list[Segment] = []

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()

    # -- out ------------------------------------------------------------------------------------------------------

    def reserve(self, size: int) -> Array | None:
        """[size] uint8 of a segment for rows of the next message: stacks that lie there in order need no copy then."""
        if len(self._reserved) == _MOST_RESERVED:
            return None
        segment = self._outbox.lend(size)
        self._reserved.append(segment)
        return segment.memory[:size]

    def send(self, message: Any, stacks: Sequence[Stack] = ()) -> None:
        """Raises: OSError: the other side has ended."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        contents: list[memoryview | bytes | Stack] = [*(buffer.raw() for buffer in buffers), *stacks, head]
        pieces: list[Any] = [None] * len(contents)
        used: list[Segment] = []
        for place, rows in enumerate(stacks, len(buffers)):
            pieces[place] = self._lies_at(rows, used)
        rest = [place for place, piece in enumerate(pieces) if piece is None]
        if sum(_size(contents[place]) for place in rest) <= _INLINE_BYTES:
            for place in rest:
                pieces[place] = _inline(contents[place])
        else:
            segment = self._outbox.lend(sum(_aligned(_size(contents[place])) for place in rest))
            used.append(segment)
            start = 0
            for place in rest:
                size = _size(contents[place])
                _write(contents[place], segment.memory[start : start + size])
                pieces[place] = (segment.number, start, size, _is_fixed(contents[place]))
                start += _aligned(size)
        self._give_up(used)
        self._post(used, len(stacks), pieces)

    def _lies_at(self, rows: Stack, used: list[Segment]) -> tuple[int, int, int, bool] | None:
        """The place of rows that lie one after another in a reserved segment, which is then used; else None."""
        first, size = rows[0].ctypes.data, rows[0].nbytes
        for segment in self._reserved:
            start = first - segment.memory.ctypes.data
            if 0 <= start < len(segment.memory) and all(
                row.flags.c_contiguous and row.ctypes.data == first + number * size for number, row in enumerate(rows)
            ):
                if segment not in used:
                    used.append(segment)
                return segment.number, start, size * len(rows), False
        return None

    def _give_up(self, used: list[Segment]) -> None:
        """Reserved segments in which nothing of the message lies are free again."""
        reserved, self._reserved = self._reserved, []
        self._outbox.take_back(segment.number for segment in reserved if segment not in used)

    def _post(self, used: list[Segment], stacks: int, pieces: list[Any]) -> None:
        segments = [(segment.number, segment.file is not None) for segment in used]
        files = [segment.file for segment in used if segment.file is not None]
        body = pickle.dumps((self._inbox.freed(), self._outbox.forgotten(), segments, stacks, pieces), protocol=5)
        frame = _FRAME.pack(len(body), len(files)) + body
        try:
            sent = socket.send_fds(self._connection, [frame], files) if files else 0
            self._connection.sendall(frame[sent:])
        finally:
            for segment in used:
                segment.close_file()

    # -- in -------------------------------------------------------------------------------------------------------

    def receive(self) -> tuple[Any, list[Array]]:
        """The next message, and its stacks, each as bytes [n] uint8. Waits without the GIL.

        Raises: EOFError, OSError: the other side has ended.
        """
        start, files, _, _ = socket.recv_fds(self._connection, _FRAME.size, _MOST_RESERVED + 1)
        start += self._exactly(_FRAME.size - len(start))
        length, _ = _FRAME.unpack(start)
        freed, forgotten, segments, stacks, pieces = pickle.loads(self._exactly(length))  # noqa: S301  # our own half
        self._outbox.take_back(freed)
        self._inbox.forget(forgotten)
        memory = {number: self._inbox.read(number, files.pop(0) if is_new else None) for number, is_new in segments}
        pieces = [_piece(memory[piece[0]], *piece[1:]) if isinstance(piece, tuple) else piece for piece in pieces]
        del memory  # or the message would keep every segment lent
        *buffers, head = pieces
        arrays = [np.frombuffer(piece, np.uint8) for piece in buffers[len(buffers) - stacks :]]
        return pickle.loads(head, buffers=buffers[: len(buffers) - stacks]), arrays  # noqa: S301  # our own half

    def _exactly(self, count: int) -> bytearray:
        body = bytearray(count)
        view = memoryview(body)
        while view:
            got = self._connection.recv_into(view)
            if not got:
                raise EOFError("the other side has ended")
            view = view[got:]
        return body


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _size(content: memoryview | bytes | Stack) -> int:
    if isinstance(content, memoryview):
        return content.nbytes
    return len(content) if isinstance(content, bytes) else len(content) * content[0].nbytes


def _is_fixed(content: memoryview | bytes | Stack) -> bool:
    """Whether the receiver may not write to it."""
    if isinstance(content, memoryview):
        return content.readonly
    return isinstance(content, bytes)


def _inline(content: memoryview | bytes | Stack) -> bytes | bytearray:
    if isinstance(content, bytes):
        return content
    text = bytes(content) if isinstance(content, memoryview) else b"".join(row.tobytes() for row in content)
    return text if _is_fixed(content) else bytearray(text)


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


def _piece(memory: Array, start: int, size: int, is_fixed: bool) -> Array:
    piece = memory[start : start + size]
    if is_fixed:
        piece.flags.writeable = False
    return piece
