"""Netlink and driver answers without names: what identifies changes as it does in the files, what is unused goes."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from netkit.model.missing import Missing
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.netlink import cmis, sff8636
from netkit.sources.netlink.attributes import attribute, nested_attribute, number_attribute, text_attribute
from netkit.sources.netlink.driver_statistics import question as statistics_question
from netkit.sources.netlink.ethtool import Command, question
from netkit.sources.netlink.kernel import Answer, Channel, Kernel, Question
from netkit.sources.netlink.links import read_interfaces
from netkit.sources.netlink.memory import RecordedKernel, RecordingKernel, Row, parsed_row, row_of
from netkit.sources.netlink.module_eeprom import DATA, eeprom_question
from netkit.sources.netlink.nldev import read_rdma_links
from netkit.sources.redaction import Redactor

_REDACTOR = Redactor("node-7", b"k" * 32)
_LINKS = Question(channel=Channel.ROUTE, command=18, body=bytes(16), dump=True, where="interfaces")
_GENERIC = bytes(4)
SOFT_ROCE: list[Row] = json.loads((Path(__file__).parent / "netlink" / "soft_roce.json").read_text())["rows"]


def redacted(asked: Question, *bodies: bytes) -> str:
    """The row after redaction, as it stands in a file, with its bytes shown as text too."""
    (row,) = _REDACTOR.kernel([row_of(asked, Answer(bodies=bodies))])
    _, answer = parsed_row(row)
    assert isinstance(answer, Answer)
    return json.dumps(row) + b"".join(answer.bodies).decode("latin-1")


def test_an_interface_list_keeps_names_and_nothing_that_identifies() -> None:
    """The hardware address, the alias and the alternative names are not in the file any more."""
    mac = bytes.fromhex("a088c2ffaa01")
    body = struct.pack("=BxHiII", 0, 1, 3, 0, 0) + text_attribute(3, "enxa088c2ffaa01") + attribute(1, mac)
    found = redacted(_LINKS, body + text_attribute(20, "to rack 14") + text_attribute(56, "0000:18:00.0"))
    assert mac.decode("latin-1") not in found
    assert "a088c2ffaa01" not in found
    assert "rack" not in found
    assert "0000:18:00.0" in found
    assert _REDACTOR.text("enxa088c2ffaa01") in found


def test_questions_and_answers_about_an_interface_stay_together() -> None:
    """A renamed interface still answers what is asked about its new name."""
    name = "enxa088c2ffaa01"
    body = _GENERIC + nested_attribute(1, number_attribute(1, 3), text_attribute(2, name)) + number_attribute(2, 1, 1)
    rows = [
        row_of(question(Command.LINKSTATE, name), Answer(bodies=(body,))),
        row_of(statistics_question(name), Answer(bodies=(b"rx_prio3_pause: 7",))),
    ]
    kernel = RecordedKernel(_REDACTOR.kernel(rows))
    for asked in (question(Command.LINKSTATE, _REDACTOR.text(name)), statistics_question(_REDACTOR.text(name))):
        assert isinstance(kernel.ask(asked), Answer)


def test_the_serial_number_and_date_of_a_module_change_and_nothing_else_does() -> None:
    """In both memory maps; vendor, part number and every measurement stay."""
    for identifier, serial, date in ((0x11, (196, 212), (212, 220)), (0x19, (166, 182), (182, 200))):
        page = bytes([identifier]) + bytes(range(1, 128))
        start, end = serial[0] - 128, serial[1] - 128
        page = page[:start] + b"MT2310X00001    " + page[end:]
        asked = eeprom_question("eth0", 0, 128)
        (row,) = _REDACTOR.kernel([row_of(asked, Answer(bodies=(_GENERIC + attribute(DATA, page),)))])
        answer = RecordedKernel([row]).ask(asked)
        assert isinstance(answer, Answer)
        after = answer.bodies[0][8:]
        assert len(after) == 128
        assert b"MT2310X" not in after
        same = [at for at in range(128) if page[at] == after[at]]
        changed = set(range(128)) - set(same)
        assert changed <= {*range(start, end), *range(date[0] - 128, date[1] - 128)}
        assert identifier in (sff8636.IDENTIFIERS if identifier == 0x11 else cmis.IDENTIFIERS)


def test_rdma_devices_keep_all_but_their_guids() -> None:
    """The same devices, ports, counters and queue pairs, under GUIDs that become what they become in files."""
    before = read_rdma_links(RecordedKernel(SOFT_ROCE), MemoryTree({}))
    after = read_rdma_links(RecordedKernel(_REDACTOR.kernel(SOFT_ROCE)), MemoryTree({}))
    assert not isinstance(before, Missing)
    assert not isinstance(after, Missing)
    for old, new in zip(before.links, after.links, strict=True):
        assert new.node_guid != old.node_guid
        assert new.node_guid == _REDACTOR.text(str(old.node_guid))
        assert (new.ports, new.queue_pairs, new.resources) == (old.ports, old.queue_pairs, old.resources)


@given(st.sampled_from([_LINKS, question(Command.STATS, "eth0"), eeprom_question("e", 0, 128)]), st.binary(max_size=60))
def test_any_bytes_of_an_answer_are_redacted_or_left_out(asked: Question, junk: bytes) -> None:
    """Nothing is raised, and the row can be read again."""
    for body in (junk, _GENERIC + junk, bytes(16) + junk):
        RecordedKernel(_REDACTOR.kernel([row_of(asked, Answer(bodies=(body,)))]))


def test_a_recording_made_of_a_redacted_one_is_the_same() -> None:
    """Nothing was lost on the way that a reader asks for."""

    def read(kernel: Kernel) -> object:
        return read_rdma_links(kernel, MemoryTree({})), read_interfaces(kernel)

    rows = _REDACTOR.kernel(SOFT_ROCE)
    recording = RecordingKernel(RecordedKernel(rows))
    assert read(recording) == read(RecordedKernel(rows))
    assert {json.dumps(row) for row in recording.rows()} == {json.dumps(row) for row in rows}


_REPORT = """
    Serial Number                         : 1653922000123
    GPU UUID                              : GPU-0a1b2c3d-1111-2222-3333-444455556666
    Processes
        Name                              : /home/alice/secret-project/.venv/bin/python3
    Product Name                          : NVIDIA H100 80GB HBM3
    Chassis Serial Number                 : N/A
"""


def test_what_tools_print_loses_serial_numbers_folders_and_uuids() -> None:
    """The report stays one: names of products and what is not there are kept."""
    (row,) = _REDACTOR.drivers([{"op": "tool", "words": ["nvidia-smi", "-q"], "text": _REPORT}])
    text = row["text"]
    assert not [secret for secret in ("1653922000123", "0a1b2c3d", "alice", "secret") if secret in text]
    assert "Name                              : python3" in text
    assert "NVIDIA H100 80GB HBM3" in text
    assert "Chassis Serial Number                 : N/A" in text
    assert row["words"] == ["nvidia-smi", "-q"]


def test_what_nvml_said_loses_uuids_wherever_they_stand() -> None:
    """Numbers stay; a fabric that was never set up does not get an identity."""
    fields = {"uuid": "GPU-0a1b2c3d-1111-2222-3333-444455556666", "fabric": {"cluster": "0" * 32, "clique": 3}}
    answer = {"devices": [{"index": 0, "fields": fields}]}
    (row,) = _REDACTOR.drivers([{"op": "nvml", "answer": answer}])
    assert "0a1b2c3d" not in json.dumps(row)
    assert row["answer"]["devices"][0]["fields"]["fabric"] == {"cluster": "0" * 32, "clique": 3}
