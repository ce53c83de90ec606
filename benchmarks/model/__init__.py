"""How well the model predicts."""
