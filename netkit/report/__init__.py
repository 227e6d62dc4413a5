"""One report object, many forms."""
