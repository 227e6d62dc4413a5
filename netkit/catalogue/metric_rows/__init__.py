"""Rows of the metric catalogue, one area a file; every `Metric` at module level is a row."""
