"""One rule a file; their order and its reasons stand in optimize/order.py."""
