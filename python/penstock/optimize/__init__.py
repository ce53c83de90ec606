"""Rewrites of the graph that change how it runs, never what comes out."""
