"""What every alert must do and must not do, as cases that promtool judges."""
