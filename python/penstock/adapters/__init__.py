"""From a feed to a framework: thin, of one shape, each importing its framework only when it is used."""
