"""`penstock demo`: one small net, three ways to feed it, one table."""
