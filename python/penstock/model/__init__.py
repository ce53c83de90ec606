"""What a run's throughput is bounded by, and what it would be after a change: from a trace alone, by arithmetic."""
