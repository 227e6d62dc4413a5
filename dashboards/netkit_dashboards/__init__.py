"""Dashboards and rules as code: none are defined yet."""
