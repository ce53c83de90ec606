"""The learning rate: scaled with the global batch, and warmed up, in each framework's own form."""
