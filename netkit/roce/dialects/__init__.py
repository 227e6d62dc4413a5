"""Switch configurations as QoS of their ports, one network operating system a file; pure: text in, records out."""
