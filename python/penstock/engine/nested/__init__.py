"""Nested datasets: opened for an element of a parent, run inline, put in order."""
