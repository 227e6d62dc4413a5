"""A small cluster of network namespaces on this machine: real kernel links, real faults."""
