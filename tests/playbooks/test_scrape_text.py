"""Signals of one recorded scrape: gauges have a value, growth and other nodes are missing and say so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing
from netkit_playbooks.readings import Reading
from netkit_playbooks.scrape_text import evaluate, parse
from netkit_playbooks.signals import chosen

SCRAPE = r"""# HELP netkit_link_up 1 when the link has a carrier, 0 when it has none.
# TYPE netkit_link_up gauge
netkit_link_up{device="mlx5_0",netdev="eth0"} 1.0
netkit_link_up{device="mlx5_1",netdev="e\"th\\1"} 0.0
netkit_rdma_rate_bytes_per_second{device="mlx5_0",port="1"} 2.5e+10
netkit_rdma_port_expected_rate_bytes_per_second{device="mlx5_0",port="1"} 5e+10
netkit_pfc_priority_lossless{device="mlx5_0",netdev="eth0",priority="0"} 0.0
netkit_pfc_priority_lossless{device="mlx5_0",netdev="eth0",priority="3"} 1.0
netkit_pfc_priority_lossless{device="mlx5_1",netdev="eth1",priority="3"} 0.0
netkit_gpu_info{gpu="0"} 1.0
netkit_gpu_info{gpu="1"} 1.0
netkit_collector_success{collector="gpu"} 1.0
netkit_collector_success{collector="optics"} 0.0
"""


def value(name: str, **narrowed: str) -> float | None:
    found = evaluate(parse(SCRAPE), chosen([name]), narrowed)[name]
    return found.value if isinstance(found, Reading) else None


def test_gauges_are_folded_as_the_signal_says() -> None:
    """Smallest, ratio, count, fewest by port; and narrowed to the alert's device."""
    assert value("link-up") == 0
    assert value("link-up", device="mlx5_0") == 1
    assert value("port-rate-ratio") == 0.5
    assert value("gpus-seen") == 2
    assert value("lossless-priorities") == 0
    assert value("lossless-priorities", device="mlx5_0") == 1


def test_what_is_not_there_is_nothing_only_where_somebody_looked() -> None:
    """No lost GPU, for the collector works; no word about alarms of modules, for theirs does not."""
    assert value("gpus-lost") == 0
    assert value("module-alarms") is None


def test_growth_and_other_nodes_are_missing() -> None:
    """One moment of one node cannot say either."""
    found = evaluate(parse(SCRAPE), chosen(["pause-sent", "pause-sent-elsewhere", "probe-age"]), {})
    assert {name: one.detail for name, one in found.items() if isinstance(one, Missing)} == {
        "pause-sent": "one moment has no growth",
        "pause-sent-elsewhere": "a recording knows one node",
        "probe-age": "one moment has no growth",
    }


def test_escapes_in_labels_are_undone() -> None:
    """As the exposition format writes them."""
    assert {one.labels["netdev"] for one in parse(SCRAPE) if one.name == "netkit_link_up"} == {"eth0", 'e"th\\1'}


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    """Lines of another form are left out."""
    evaluate(parse(text), chosen(["link-up"]), {})
