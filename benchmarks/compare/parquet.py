"""13 float32 and 26 int64 columns as Parquet, shuffled by row groups, batches of 1024; one epoch a round.

The limit: pyarrow by hand: row groups in random order, each read as a table, permuted by NumPy column by column, and
cut into batches, views of its columns. Ours mixes as many row groups as hold 65,536 rows, into arrays of their own.
A yardstick: ours with four row groups mixed at a time. The files are warm. Law: at least half of the limit, not held
yet (0.3 on a busy machine): batch by batch, each value is a cache miss, where by hand a column is permuted whole.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

FILES, ROWS, GROUP, BATCH = 4, 262_144, 65_536, 1024
FLOATS, INTS = 13, 26
Repetition = Callable[..., Any]


def corpus() -> list[Path]:
    """The files, written once for all processes; kept for later runs. Integers are of 10 to 100,000 values."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = Path(tempfile.gettempdir()) / f"penstock-parquet-{FILES}-{ROWS}-{GROUP}"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number}.parquet" for number in range(FILES)]
    for number, path in enumerate(paths):
        if path.exists():
            continue
        generator = np.random.default_rng(number)
        columns: dict[str, Any] = {f"I{n}": generator.random(ROWS, dtype=np.float32) for n in range(FLOATS)}
        columns |= {f"C{n}": generator.integers(0, 10 ** (1 + n % 5), ROWS) for n in range(INTS)}
        writing = path.with_suffix(f".{os.getpid()}")
        pq.write_table(pa.table(columns), writing, row_group_size=GROUP)
        writing.rename(path)
    return paths


def _consume(epoch: Callable[[], Any], prove: bool) -> Any:
    """Rows delivered in an epoch; to prove it, sums that tell columns and whole rows apart."""
    if not prove:
        return sum(len(batch["I0"]) for batch in epoch())
    rows, totals, pairs = 0, np.zeros(INTS, np.int64), 0
    for batch in epoch():
        rows += len(batch["I0"])
        totals += [int(np.asarray(batch[f"C{n}"]).sum()) for n in range(INTS)]
        bits = np.asarray(batch["I3"]).view(np.uint32).astype(np.int64)
        pairs += int((bits * (batch["C4"] + 7 * batch["C1"]) % 1_000_003).sum())
    return [rows, totals.tolist(), pairs]


def penstock(buffer: str) -> Repetition:
    import penstock as ps

    dataset = ps.Dataset.from_parquet(corpus()).shuffle(int(buffer)).batch(BATCH)
    return lambda prove: _consume(lambda: dataset, prove)


def by_hand() -> Repetition:
    import pyarrow.parquet as pq

    files = [pq.ParquetFile(path) for path in corpus()]
    groups = [(file, number) for file in files for number in range(file.num_row_groups)]
    generator = np.random.default_rng(1)

    def batches() -> Iterator[dict[str, Any]]:
        for place in generator.permutation(len(groups)).tolist():
            file, number = groups[place]
            table = file.read_row_group(number)
            order = generator.permutation(table.num_rows)
            columns = {name: table.column(name).to_numpy()[order] for name in table.column_names}
            for start in range(0, table.num_rows, BATCH):
                yield {name: values[start : start + BATCH] for name, values in columns.items()}

    return lambda prove: _consume(batches, prove)


CONTENDERS = [
    Contender("penstock", "benchmarks.compare.parquet:penstock", (str(GROUP),)),
    Contender("penstock, 4 row groups", "benchmarks.compare.parquet:penstock", (str(4 * GROUP),)),
    Contender("limit: pyarrow by hand", "benchmarks.compare.parquet:by_hand"),
]


def run(rounds: int) -> Result:
    corpus()
    what = f"{FILES * ROWS} rows of {FLOATS} floats and {INTS} integers, row groups of {GROUP}, batch {BATCH}"
    return compare("parquet", f"{what}, one epoch a round, {rounds} rounds", interleave(CONTENDERS, rounds), "rows/s")
