"""Beside peers and limits, in one interleaved run."""
