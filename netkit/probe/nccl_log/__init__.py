"""How nccl-tests writes its results, as text and as JSON, and what can be believed of a log that may be cut."""
