"""Instruments other people's loaders: one file each, patched after import, importing no framework itself."""
