"""Several local processes that train together: their variables, their lives and their output."""
