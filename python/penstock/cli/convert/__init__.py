"""`penstock convert`: what lies in one format, packed into TFRecord files or tar shards."""
