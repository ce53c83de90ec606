"""Formats of files: what lies where in them, and reading it. No engine here."""
