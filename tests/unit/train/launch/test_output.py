from __future__ import annotations

import pytest

from penstock.train.launch.output import Lines


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ([b"one\ntw", b"o\n"], b"[1] one\n[1] two\n"),
        ([b"no end"], b"[1] no end\n"),
        ([b"10 %\r20 %\r100 %\n"], b"[1] 100 %\n"),
        ([b"dos\r\n", b"\n"], b"[1] dos\n[1] \n"),
        ([b"x" * 70_000], b"[1] " + b"x" * 65_536 + b"\n[1] " + b"x" * 4_464 + b"\n"),
        ([b"%d\r" % number for number in range(50_000)] + [b"end\n"], b"[1] end\n"),
        ([], b""),
    ],
)
def test_lines_get_their_prefix(pieces: list[bytes], shown: bytes) -> None:
    written: list[bytes] = []
    lines = Lines(b"[1] ", written.append)
    for piece in pieces:
        lines.feed(piece)
    lines.close()
    assert b"".join(written) == shown


def test_the_last_lines_are_kept() -> None:
    lines = Lines(b"[0] ", lambda data: None)
    lines.feed(b"".join(b"line %d\n" % number for number in range(100)) + b"\xff\n")
    assert (len(lines.tail), list(lines.tail)[-2:]) == (12, ["line 99", "\N{REPLACEMENT CHARACTER}"])
