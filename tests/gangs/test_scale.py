"""Thousands of pods: resolved in a time that grows with their number, out of pages as a server sends them."""

from __future__ import annotations

import json
import time

from benchmarks.gangs import pages, pod
from netkit.catalogue.kube_resources import RESOURCES
from netkit.gangs.cluster import Cluster
from netkit.gangs.device_sources import device_sources
from netkit.gangs.devices import with_devices
from netkit.gangs.resolver import resolve
from netkit.gangs.systems import systems
from netkit.model.gang_snapshot import GangSnapshot
from netkit.sources.kube.objects import objects_of

PODS = 2000


def test_two_thousand_pods_cost_less_than_two_seconds() -> None:
    """A fifth of the benchmark's cluster in twice its share of the time; every pod in its gang, with its GPUs."""
    row = next(row for row in RESOURCES if row.name == "pods")
    ready = pages([pod(at) for at in range(PODS)], "PodList")
    started = time.process_time()
    listed = tuple(one for page in ready for one in objects_of(page, json.loads(page), row, "v1"))
    cluster = Cluster(GangSnapshot(server="", namespace="", taken_at=0, listings={"pods": listed}))
    gangs = with_devices(resolve(cluster, systems()), cluster, device_sources())
    assert time.process_time() - started < 2
    assert (len(gangs), sum(len(gang.members) for gang in gangs)) == (500, PODS)
    assert {len(member.devices) for gang in gangs for member in gang.members} == {8}
