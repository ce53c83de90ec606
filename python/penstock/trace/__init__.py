"""What can be said of a user's function by reading its code."""
