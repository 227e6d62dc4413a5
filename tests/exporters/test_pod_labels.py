"""Pods on every series of a device, where somebody asked for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from netkit.model.missing import Missing
from netkit_exporters.collecting import Machine, Reading
from netkit_exporters.collectors import gpu, rdma
from netkit_exporters.pod_labels import Book
from tests.exporters import scrape
from tests.exporters.fake_kubelet import kubelet, reply
from tests.exporters.full_node import full_node

GPU = "GPU-00000000-0000-4000-8000-000000000003"


def machine(place: Path) -> Machine:
    return replace(full_node(), options={"pod_labels": "all", "pod_resources": str(place)})


def read_in_turn(found: dict[str, Reading] | Missing) -> list[str]:
    """The kubelet is the first target, so what follows knows its answer."""
    assert not isinstance(found, Missing)
    assert next(iter(found)) == "pod labels"
    return scrape.lines(sample for reading in found.values() for sample in reading.samples)


def test_series_of_a_gpu_carry_its_pod(tmp_path: Path) -> None:
    """Those of a GPU nobody holds have empty labels, which is as if they had none."""
    place = tmp_path / "kubelet.sock"
    with kubelet(place, lambda: reply([("team-a", "trainer-0", "main", "nvidia.com/gpu", [GPU])])):
        shown = read_in_turn(scrape.readings(gpu.COLLECTOR, machine(place)))
    power = [line for line in shown if line.startswith("netkit_gpu_power_watts{")]
    assert len(power) == 8
    assert [line for line in power if 'namespace="team-a",pod="trainer-0",container="main"' in line] == [power[3]]
    assert 'namespace="",pod="",container=""' in power[0]


def test_series_of_a_nic_carry_its_pod(tmp_path: Path) -> None:
    """A NIC handed to a pod by PCI address."""
    place = tmp_path / "kubelet.sock"
    known = scrape.values(scrape.samples(rdma.COLLECTOR, full_node()), "netkit_rdma_port_info")
    ours = next(labels for labels in known if labels[0] == "mlx5_2")
    with kubelet(place, lambda: reply([("team-b", "trainer-1", "main", "nvidia.com/nic", [ours[-1]])])):
        shown = read_in_turn(scrape.readings(rdma.COLLECTOR, machine(place)))
    info = [line for line in shown if line.startswith("netkit_rdma_port_info{") and "trainer-1" in line]
    assert len(info) == 1
    assert 'device="mlx5_2"' in info[0]


def test_a_shared_device_is_nobodys() -> None:
    """Time slices: two pods, one GPU; neither gets its series."""
    book = Book()
    (sample, *_) = scrape.samples(gpu.COLLECTOR, full_node())
    gpu_sample = next(one for one in scrape.samples(gpu.COLLECTOR, full_node()) if GPU in one.labels)
    book.fill([(GPU, ("a", "one", "main")), (GPU, ("a", "two", "main"))])
    assert book.labelled(gpu_sample).labels[-3:] == ("", "", "")
    book.fill([(GPU, ("a", "one", "main"))])
    assert book.labelled(gpu_sample).labels[-3:] == ("a", "one", "main")
    assert len(book.labelled(sample).labels) == len(sample.labels) + 3


def test_without_a_kubelet_series_are_there_without_pods(tmp_path: Path) -> None:
    """Labels are empty and the fault is said."""
    found = scrape.readings(gpu.COLLECTOR, machine(tmp_path / "absent.sock"))
    assert not isinstance(found, Missing)
    assert found["pod labels"].faults
    assert len(found["nvml"].samples) > 100
