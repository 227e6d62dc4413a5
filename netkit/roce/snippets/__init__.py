"""A declared intent in the words of one network operating system or host, one a file; pure: intent in, text out."""
