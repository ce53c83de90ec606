"""Performance, measured: against a peer or a limit in the same interleaved run, with medians and CPU-seconds."""
