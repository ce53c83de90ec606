"""Pipelines and preprocessing as bytes: data that runs nothing when it is read, and code only where it is allowed."""
