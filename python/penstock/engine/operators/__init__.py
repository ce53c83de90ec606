"""What stages do to blocks."""
