"""Which devices a process uses, how much of their memory, what they say of themselves, and giving memory back."""
