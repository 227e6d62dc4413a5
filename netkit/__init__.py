"""netkit: RDMA and NCCL network observability and tuning for GPU training clusters."""

__version__ = "0.1.0"
