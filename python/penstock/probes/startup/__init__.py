"""The folder that `penstock doctor` puts on PYTHONPATH: nothing else is in it."""
