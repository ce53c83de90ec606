"""A model over several devices, by the names of its layers."""
