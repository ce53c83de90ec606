"""`penstock doctor`: runs somebody's training script as it is, and says what holds it up."""
