"""The tests: `tests/unit` mirrors `python/penstock`; shared helpers are imported as `tests.<folder>.<module>`."""
