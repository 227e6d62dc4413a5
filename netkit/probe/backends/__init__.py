"""One benchmark a file: how to start it, and how to read what it prints."""
