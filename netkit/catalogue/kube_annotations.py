"""Annotations that gang, queue and device systems are known to write; others may hold anything, also secrets."""

from __future__ import annotations

import re

_KNOWN = re.compile(
    r"""
    (?:[\w.-]+\.)?(?:
        kubernetes\.io | k8s\.io | x-k8s\.io | volcano\.sh | koordinator\.sh | yunikorn\.apache\.org | kai\.scheduler
        | run\.ai | kubewharf\.io | kubeflow\.org | ray\.io | hami\.io | huawei\.com | k8s\.v1\.cni\.cncf\.io
        | spidernet\.io | topograph\.run | nvidia\.com | metax-tech\.com | mthreads\.com | enflame\.com | sigs\.dev
    )/.*
    | elasticjob\.dlrover/.* | hccl/rankIndex | predicate-time | pod-group-name | gpu-fraction | gpu-memory
    | received-resource-type | runai/.* | CAMBRICON_DSMLU_\w+ | ALIYUN_COM_GPU_\w+
    | (?:ascend|atlas)\.kubectl\.kubernetes\.io/.*
    """,
    re.VERBOSE,
)


def is_known(key: str) -> bool:
    """Tell whether an annotation is one that a known system writes."""
    return _KNOWN.fullmatch(key) is not None
