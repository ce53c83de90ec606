"""`python -m benchmarks [name ...]`: run benchmarks (all by default), print their tables, keep the figures as JSON."""

from __future__ import annotations

import argparse
import importlib
import sys

NAMES = (
    "micro.import_time",
    "micro.fused_image",
    "micro.fast_jpeg",
    "micro.loops",
    "compare.in_memory",
    "compare.in_memory_rss",
    "compare.indexed_shuffle",
    "compare.objects",
    "compare.packing",
    "compare.parquet",
    "compare.tokens",
    "compare.cached",
    "compare.records",
    "compare.examples",
    "compare.cheap_maps",
    "compare.text",
    "compare.processes",
    "compare.images",
    "compare.images_validation",
    "compare.images_uint8",
    "compare.images_large",
    "compare.images_png",
    "compare.au",
    "faults",
    "feed",
    "model.prediction",
    "train.monitor",
    "tune.recovery",
)


def main() -> int:
    """Run what is named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default 9)")
    parser.add_argument("--keep", action="store_true", help="write the figures to benchmarks/results/")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    for name in arguments.names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        result = module.run(arguments.rounds)
        print(result.table(), flush=True)
        if arguments.keep:
            print(f"kept in {result.keep()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
