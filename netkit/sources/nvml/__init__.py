"""NVML: a child process that calls it, its keeper, and what its answers mean."""
