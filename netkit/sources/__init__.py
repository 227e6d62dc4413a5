"""Readers of one machine: the only code that touches its files."""
