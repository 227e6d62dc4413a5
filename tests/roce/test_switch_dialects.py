"""Switch configurations become the same record whatever the dialect; what is none of them is refused in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.missing import Missing
from netkit.roce.dialects import nvue, sonic
from netkit.roce.neighbours import Neighbour, parse_lldp
from netkit.roce.switch_ports import behind, parse_switch

CONFIG_DB: dict[str, Any] = {
    "PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet8": {}},
    "DSCP_TO_TC_MAP": {"AZURE": {str(dscp): "3" if dscp == 26 else "6" if dscp == 48 else "1" for dscp in range(64)}},
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {str(number): str(number) for number in range(8)}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(number): str(number) for number in range(8)}},
    "PORT_QOS_MAP": {
        "global": {"dscp_to_tc_map": "AZURE"},
        "Ethernet0,Ethernet8": {
            "pfc_enable": "3,4",
            "tc_to_pg_map": "[TC_TO_PRIORITY_GROUP_MAP|AZURE]",
            "tc_to_queue_map": "AZURE",
        },
    },
    "BUFFER_PROFILE": {"pg_lossless_400000_5m_profile": {"xoff": "300000", "size": "0"}, "lossy": {"size": "0"}},
    "BUFFER_PG": {
        "Ethernet0|3-4": {"profile": "[BUFFER_PROFILE|pg_lossless_400000_5m_profile]"},
        "Ethernet0|0": {"profile": "lossy"},
        "Ethernet8|3-4": {"profile": "NULL"},
    },
    "WRED_PROFILE": {
        "LOSSLESS": {"ecn": "ecn_all", "green_min_threshold": "1048576", "green_max_threshold": "2097152"}
    },
    "SCHEDULER": {"scheduler.0": {"type": "DWRR"}, "scheduler.1": {"type": "STRICT"}},
    "QUEUE": {
        "Ethernet0,Ethernet8|3": {"wred_profile": "LOSSLESS", "scheduler": "scheduler.0"},
        "Ethernet0,Ethernet8|6": {"scheduler": "[SCHEDULER|scheduler.1]"},
    },
    "PFC_WD": {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "400"},
    },
}


def test_sonic_tables_are_followed_port_by_port() -> None:
    """Global maps, port lists, both forms of reference, ranges of groups."""
    ports = sonic.parse(json.dumps(CONFIG_DB))
    port = ports["Ethernet0"]
    assert set(ports) == {"Ethernet0", "Ethernet8"}
    assert (port.class_of(26), port.class_of(48), port.class_of(1)) == (3, 6, 1)
    assert (port.group_of(3), port.queue_of(6)) == (3, 6)
    assert port.lossless == {3, 4}
    assert {group: one.lossless for group, one in port.groups.items()} == {0: False, 3: True, 4: True}
    assert port.groups[3].xoff_bytes == 300000
    assert (port.marking[3].ecn, port.marking[3].low_bytes, port.marking[3].high_bytes) == (True, 1 << 20, 2 << 20)
    assert port.strict_queues == {6}
    assert port.watchdog is not None
    assert (port.watchdog.detection_seconds, port.watchdog.restoration_seconds) == (0.2, 0.4)
    assert port.mtu_bytes == 9100


def test_what_a_sonic_port_does_not_say_is_missing() -> None:
    """No watchdog, no MTU; a NULL profile is lossless with a size the switch works out."""
    port = sonic.parse(json.dumps(CONFIG_DB))["Ethernet8"]
    assert port.watchdog is None
    assert isinstance(port.mtu_bytes, Missing)
    assert port.groups[3].lossless
    assert isinstance(port.groups[3].xoff_bytes, Missing)


@pytest.mark.parametrize(
    ("commands", "lossless", "guarded"),
    [
        ("nv set qos roce", True, False),
        ("nv set qos roce mode lossy", False, False),
        ("nv set qos roce mode lossless\nnv set interface swp1-32 qos pfc-watchdog state enable", True, True),
    ],
)
def test_nvue_commands_stand_for_their_documented_settings(commands: str, lossless: bool, guarded: bool) -> None:
    """Lossless priority 3, strict 6, ECN; PFC and watchdog only where they are set."""
    port = nvue.parse(f"nv set system hostname leaf01\n{commands}\n")["*"]
    assert port.lossless == ({3} if lossless else frozenset())
    assert (port.class_of(26), port.class_of(48)) == (3, 6)
    assert port.strict_queues == {6}
    assert (port.watchdog is not None) is guarded


@pytest.mark.parametrize(
    "text", ["", "{}", "{", "interface Ethernet0\n", '{"PORT_QOS_MAP": 3}', "nv set system hostname x"]
)
def test_a_text_that_is_no_switch_configuration_is_refused(text: str) -> None:
    """One line that says what is accepted."""
    with pytest.raises(InputError, match="accepted is"):
        parse_switch(text)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | (
                st.dictionaries(
                    st.sampled_from(["Ethernet0", "AZURE", "dscp_to_tc_map", "pfc_enable", "Ethernet0|3-4", "profile"]),
                    inner,
                    max_size=4,
                )
            )
        ),
        max_leaves=12,
    )
)
def test_odd_tables_never_break_the_reader(table: object) -> None:
    """Whatever stands where a table belongs, ports come out or one clear line does."""
    for name in ("PORT_QOS_MAP", "DSCP_TO_TC_MAP", "BUFFER_PG", "QUEUE", "PFC_WD", "PORT"):
        try:
            sonic.parse(json.dumps(CONFIG_DB | {name: table}))
        except InputError:
            assert name == "PORT_QOS_MAP"


LLDP = {
    "lldp": {
        "interface": [
            {"rail0": {"chassis": {"leaf01": {"id": {}}}, "port": {"id": {"type": "local", "value": "Ethernet0"}}}},
            {"rail1": {"chassis": {"leaf02": {"id": {}}}, "port": {"id": {"type": "local", "value": "Ethernet8"}}}},
        ]
    }
}


def test_lldp_says_which_port_is_behind_which_interface() -> None:
    """One neighbour as an object, several as a list."""
    expected = Neighbour(interface="rail0", system="leaf01", port="Ethernet0")
    assert parse_lldp(json.dumps(LLDP))["rail0"] == expected
    single = {"lldp": {"interface": LLDP["lldp"]["interface"][0]}}
    assert parse_lldp(json.dumps(single)) == {"rail0": expected}
    with pytest.raises(InputError, match="lldpctl"):
        parse_lldp("[]")


def test_a_switch_port_is_found_by_lldp_by_name_or_because_there_is_one() -> None:
    """Otherwise somebody has to say it."""
    ports = sonic.parse(json.dumps(CONFIG_DB))
    found = behind(ports, parse_lldp(json.dumps(LLDP)), None)
    assert {interface: one.port for interface, one in found.items()} == {"rail0": "Ethernet0", "rail1": "Ethernet8"}
    assert behind(ports, {}, "Ethernet8")["*"].port == "Ethernet8"
    assert behind({"Ethernet0": ports["Ethernet0"]}, {}, None)["*"].port == "Ethernet0"
    with pytest.raises(InputError, match="--switch-port"):
        behind(ports, {}, None)
    with pytest.raises(InputError, match="Ethernet0"):
        behind(ports, {}, "Ethernet1")
