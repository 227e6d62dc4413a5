"""One dashboard a file, each with one constant `BOARD`; the folder is walked."""
