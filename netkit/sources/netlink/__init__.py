"""Readers of one machine's kernel by netlink(7) and ethtool ioctl: RDMA, data center bridging, Ethernet links."""
