"""Runs a plan: operators on blocks, a scheduler that decides, executors that act."""
