"""What every check judges with: the contract, one node's context, and the walk from snapshots to results."""
