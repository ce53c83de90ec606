"""What code loads is told apart where codes are nearly alike, whichever was read first."""

from __future__ import annotations

from penstock.trace.bytecode import instructions_of


def test_codes_that_differ_in_a_constant_alone_have_their_own_instructions() -> None:
    functions = [lambda: 1, lambda: 1.0, lambda: True, lambda: 0.0, lambda: -0.0, lambda: (0.0,), lambda: (-0.0,)]
    for function in functions:
        loaded = [
            repr(i.argval) for i in instructions_of(function.__code__) if "CONST" in i.opname or "INT" in i.opname
        ]
        assert loaded == [repr(function())]
