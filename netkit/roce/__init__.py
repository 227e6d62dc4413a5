"""RoCE quality of service as one chain, from a job's traffic class to the switch's queues; pure."""
