"""Records what happens; concludes nothing, shows nothing."""
