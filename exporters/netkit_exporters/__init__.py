"""Prometheus node exporter: nothing is exported yet."""
