"""The reference page of what a traced function may call, made from the table of rules; a test keeps the two the same.

python -m penstock.trace.reference > docs/reference/traced-functions.md
"""

from __future__ import annotations

import sys

from penstock.ops.block_draws import BLOCK_DRAWS
from penstock.ops.registry import OPS
from penstock.trace.rules import ANSWERED, ELEMENTWISE_UFUNCS, FUNCTIONS, METHODS, Kind
from penstock.trace.whole import METHOD_FORMS

_LINE = 118
_INTRODUCTION = """\
# What a traced function may call

Made from the table of rules (`python -m penstock.trace.reference`). A function that uses only this is compiled: its
steps run on blocks of elements. Each step gives every element the bits that the call on that element alone gives; the
headings say how. Where rows differ in shape, and for arguments that a form for blocks does not know, every step runs
row by row, without your Python function. What is not listed keeps the function in Python; `explain()` says which call.
"""
_CLOSING = """\
## Values

Arithmetic, comparisons and bit operations between values, numbers and arrays (`+ - * / // % ** @ & | ^ ~ << >> < <=`);
indexing by integers, slices, `...`, `None`, lists, arrays and other values; `.shape`, `.ndim`, `.size`, `.dtype`,
`.T`, `.astype`, `.reshape`; tuples and dicts; functions of the same kind; loops and branches that do not depend on
values. The sides of a shape are integers where every element has the same shape, and values where shapes may differ.

Constants may be made by anything that is pure (`np.arange`, `np.zeros`, `np.eye`, a table from outside). To look one
up by a value: `ps.gather(table, value)`; one-hot: `ps.one_hot(label, classes)`.

Numbers that an `rng` returns without a `size`, and the sides of a shape, are Python numbers: with an array they take
its dtype, as in NumPy.

## Not traced, and what is

| instead of | write |
|---|---|
| `np.asarray(x)`, `np.array(x)` | `x`: values are arrays already |
| `np.array([x, y])`, `[x, y]` as a result | `np.stack([x, y])` |
| `a if x > 0 else b`, `max(x, 0)` | `np.where(x > 0, a, b)`, `np.maximum(x, 0)` |
| `table[x]` | `ps.gather(table, x)`; `ps.one_hot(x, classes)` for `np.eye(classes)[x]` |
| `float(x)`, `int(x)`, `round(x)` | `x.astype(float)`, `x.astype(int)`, `np.round(x)` |
| `len(x)` where lengths differ, in a function that the mapped one calls | `x.shape[0]` |
| `x[0] = 1`, `x += 1` into what came in | `np.where`, `np.concatenate`; `x = x + 1` |
| `np.full(shape, x)` | `np.broadcast_to(x, shape)` |
"""


def reference_page() -> str:
    """The page as Markdown."""
    kinds = {kind: sorted(name for name, found in FUNCTIONS.items() if found is kind) for kind in Kind}
    others = sorted(set(kinds[Kind.ELEMENTWISE]) - ELEMENTWISE_UFUNCS)
    whole = sorted(name for name in METHODS if name in METHOD_FORMS or name in ("astype", "reshape", "clip"))
    rows = sorted(set(METHODS) - set(whole) - {"getitem"})
    parts = [
        _INTRODUCTION,
        "## NumPy functions, one call on the whole block\n",
        "Each value is computed from values at its own place, by arithmetic that IEEE 754 or integers define:\n",
        _names([*sorted(ELEMENTWISE_UFUNCS), *others]),
        "Values are moved, picked or compared along axes, which count as in a row; `sort` and `argsort` by line:\n",
        _names(kinds[Kind.ALONG]),
        "For integers and bools alone, whose sums do not depend on their order; for floats row by row:\n",
        _names(kinds[Kind.INTEGERS]),
        "## NumPy functions, row by row\n",
        "What NumPy computes in an order, or with instructions, that depend on how an array lies in memory:\n",
        _names(kinds[Kind.ROW]),
        "## NumPy functions answered while tracing\n",
        _names(sorted(ANSWERED)),
        "## Methods of arrays\n",
        "One call on the whole block (sums, products and extremes for integers):\n",
        _names([f".{name}" for name in whole]),
        "Row by row:\n",
        _names([f".{name}" for name in rows]),
        "## Draws of `random_map`'s rng\n",
        "For the whole block at once:\n",
        _names(sorted(BLOCK_DRAWS)),
        "Row by row: `rng.normal`, whose logarithm and cosine are the same to the last bit only one element at a time.",
        "How often a function draws must not depend on the element: a `size` that is a value, a draw after a random op",
        "that draws as often as it needs, and `rng.numpy()` keep it in Python.\n",
        "## Penstock's ops\n",
        "`math.cast`, `math.gather` and `math.one_hot` on the whole block; `examples.parse_single_example` in one pass",
        "over the records of a block; files and images one by one, natively: decode, crop, resize and what follows",
        "become one pass where they can. So do steps on texts and words, over a",
        "whole block: lower, split, look up, with no object for a word; rows of numbers stay together for `pad`,",
        "slices, `len` and batches by length. `words.tokenize` hands whole blocks to `encode_batch`.\n",
        _names(sorted(f"{op.__module__.rpartition('.')[2]}.{op.__name__}" for op in OPS)),
        _CLOSING.rstrip("\n"),
    ]
    return "\n".join(parts) + "\n"


def _names(names: list[str]) -> str:
    """The names as one paragraph of code words."""
    lines, line = [], ""
    for name in names:
        word = f"`{name}`"
        if line and len(line) + len(word) + 1 > _LINE:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(reference_page())
