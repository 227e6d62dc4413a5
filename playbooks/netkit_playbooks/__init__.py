"""Playbooks that run: none are written yet."""
