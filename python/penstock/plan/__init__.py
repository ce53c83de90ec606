"""The physical plan: which stages a graph is cut into, and where and how wide each runs."""
