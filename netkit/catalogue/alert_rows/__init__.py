"""Alerts as rows, one area a file."""
