"""A Kubernetes cluster: its API, commands inside its pods, and bundles that stand for one."""
