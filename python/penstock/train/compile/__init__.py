"""Compiled steps: whether they are, how a raw one is wrapped, and what makes them compile again."""
