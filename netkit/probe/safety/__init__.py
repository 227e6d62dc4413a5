"""What keeps probes from harming anybody: locks on nodes, budgets, a switch that stops everything, witnesses."""
