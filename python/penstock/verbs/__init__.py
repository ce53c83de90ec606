"""The verbs, one file a kind. They check arguments where the user wrote them, and make nodes."""
