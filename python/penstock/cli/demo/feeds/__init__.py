"""The three ways to feed the model, one per file; each does the work that `Job` describes."""
