"""`penstock launch`: a training script as several processes of this machine that train together."""
