"""`penstock bench`: how fast a dataset is, what that costs, and how close it is to what this machine can do."""
