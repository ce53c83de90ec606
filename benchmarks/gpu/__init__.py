"""Benchmarks for a machine with a GPU; each is one file that needs Penstock's wheel and the frameworks it names."""
