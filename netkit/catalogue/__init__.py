"""Facts of the field as rows of data: platforms, published bandwidths."""
