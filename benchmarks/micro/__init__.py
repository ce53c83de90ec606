"""One thing alone."""
