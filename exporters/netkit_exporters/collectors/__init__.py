"""One collector a file, each with one constant `COLLECTOR`; the folder is walked at start."""
