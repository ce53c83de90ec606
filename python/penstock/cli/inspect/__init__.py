"""`penstock inspect`: what lies at a path, in a terminal or as a page with pictures."""
