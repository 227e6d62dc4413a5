"""Advice about settings: what to change on this machine, why, at which risk, how to get back. Nothing is applied."""
