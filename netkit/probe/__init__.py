"""Measure a gang and say which part of it is slow: plan, run, decode."""
