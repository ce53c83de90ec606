"""The training kit."""
