"""Decides what to change of a pipeline that runs: values in, values out. It reads no clock and starts nothing."""
