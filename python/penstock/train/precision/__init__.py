"""In which precision a model computes: choosing it, setting it, checking it, and measuring what it costs and gives."""
