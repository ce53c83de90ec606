"""Elements kept in a directory: `.npy` files that NumPy reads, one or a few for each leaf, and a JSON manifest.

    directory/
      3f9c.../             one entry: all of it is there, or it is not there at all
        manifest.json      format, count, structure, and of each leaf: kind, dtype, shape, files
        0.npy              leaf 0
        ids.npy            the identity of each element, where elements are those of a cache

An entry is written beside, under a name that begins with a dot, and renamed when it is complete. Kinds of leaves:
`fixed`: one array [count, *shape]. `varied`: the items of all rows end to end, with the span [start, length] and the
shape [rank, *dimensions] of each row. `text`: likewise of bytes, or of str as UTF-8. `ragged`: the innermost values as
one of these, with the row splits of each axis as items and spans.
"""
