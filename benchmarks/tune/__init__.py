"""How fast AUTOTUNE finds a good setting, and what it costs then."""
