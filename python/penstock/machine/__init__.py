"""What this process may use of the machine it runs on: cores and memory inside the container's real limits.

Every limit is read from files under a `root`, so tests hand in a folder of their own. A limit that cannot be read is no
limit: the budget is the smallest of those that can, and says which one decided.
"""

from penstock.machine.budget import Budget, measure_budget
from penstock.machine.cpu import cpu_budget
from penstock.machine.memory import memory_budget_bytes, rss_bytes

__all__ = ["Budget", "cpu_budget", "measure_budget", "memory_budget_bytes", "rss_bytes"]
