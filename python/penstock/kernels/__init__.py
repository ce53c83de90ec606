"""The face of the compiled kernels, one file per kind, and `reference`: the slow twin of each in NumPy."""
