"""Searching settings by measuring: a space of parameters, a course of trials, and what may be claimed of the result."""
