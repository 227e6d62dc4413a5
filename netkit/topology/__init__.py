"""What NCCL sees of one node: the device graph, its paths, the NIC each GPU will use. Pure: records in, records out."""
