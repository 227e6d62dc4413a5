"""Measurements against numbers to beat; each module runs alone: `python -m benchmarks.NAME --help`."""
