"""Signals as rows, one area a file."""
