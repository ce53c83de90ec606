"""Over how many devices and processes a step is spread, on each framework."""
