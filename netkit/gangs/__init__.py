"""Gangs of a cluster: who belongs together, where they sit, what each member holds, why they wait. Pure."""
