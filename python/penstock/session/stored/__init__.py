"""Caches in directories, seen from a pipeline: whose elements they are, which are complete, which are filled first."""
