"""The table that NCCL's example tuner plugin reads: its grammar, what it silently misreads, and how to write it."""
