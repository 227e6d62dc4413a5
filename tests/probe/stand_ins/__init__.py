"""Programs that stand in for ones this machine lacks: they take the same command lines and print the same text."""
