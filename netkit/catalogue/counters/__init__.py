"""Counter names, one table a file: each driver's, the port counters of the InfiniBand PMA."""
