"""The `netkit` command line: a skin over the library."""
