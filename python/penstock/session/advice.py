"""What to write instead of what keeps a function from compiling, by what the reason says."""

from __future__ import annotations

_PARALLEL = "num_parallel_calls=N if it may run in parallel; only Penstock's, NumPy's and pure Python functions compile"

_CURES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("random", "default_rng"), "random_map(fn) hands each element its own rng; or the random ops of penstock.image"),
    (("is a method of an object", "unknown kind", "unknown object"), "a plain function, with the numbers it needs"),
    (
        (".append", ".extend", ".add,", ".update", "assigns to the", "deletes the global"),
        "scan(state, fn) carries state",
    ),
    (("sets the attribute",), "return what is to be kept; scan(state, fn) carries state"),
    (("assigns to an item", "assigns to a slice", "in place"), "make a new array: numpy.where, numpy.concatenate"),
    (("catches exceptions",), 'map(fn, on_error="skip") drops the elements that raise'),
    (("would see the tracing",), "decide by dtype, shape or numpy.where, or outside the function"),
    (("imports ",), "import at the top of the file"),
    (("with statement",), "open outside the function; penstock.io.read_file reads a file"),
    (("is a generator",), "flat_map, or return a tuple"),
    (("time.", "datetime", "environ", "getenv"), "read it once, outside the function"),
    (("'open'", "io.open"), "penstock.io.read_file"),
    (("loops over a value",), "NumPy functions of the whole value; a loop over range(constant) is traced"),
    (("which has no rule for blocks",), "the functions listed in docs/reference/traced-functions.md"),
    (("not known to be pure", "changes"), _PARALLEL),
)


def advice(reason: str) -> str | None:
    """What to do about `reason`, a phrase of the tracer's; None when it says so itself, or there is nothing to do."""
    for fragments, cure in _CURES:
        if any(fragment in reason for fragment in fragments):
            return cure
    return None
