"""Faults on made-up nodes, from the counter that moves to the cause that is named."""
