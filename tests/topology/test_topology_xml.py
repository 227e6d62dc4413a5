"""Reading NCCL's topology XML: what it means, what is wrong with it, and what is refused before it costs anything."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.topology.nccl_xml import read_topology
from netkit.topology.view import view_of_topology
from tests.topology.synthetic_machines import INTEL, MACHINES, gpu, hgx, nic, pci, switch, system

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<!DOCTYPE s [<!ENTITY l0 "ha">{LAUGHS}]><system><cpu numaid="0">&l9;</cpu></system>'
EXTERNAL = '<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><system><cpu numaid="0">&x;</cpu></system>'
QUADRATIC = f'<!DOCTYPE s [<!ENTITY a "{"a" * 50_000}">]><system>{"&a;" * 1_000}</system>'


@pytest.mark.fault("I07")
@pytest.mark.parametrize("text", [BOMB, EXTERNAL, QUADRATIC, '<!DOCTYPE s SYSTEM "http://127.0.0.1/x.dtd"><system/>'])
def test_document_type_declarations_are_refused_at_once(text: str) -> None:
    """An entity bomb, an external entity and a quadratic blow-up all die at their declaration."""
    read_topology(hgx(), "to have the parser imported")
    started = time.process_time()
    with pytest.raises(InputError, match="document type declaration"):
        read_topology(text, "hostile")
    assert time.process_time() - started < 0.05


@pytest.mark.fault("I08")
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<system>" + "<pci>" * 200_000, "levels of nesting"),
        ("<system>" + "<cpu/>" * 1_000_000, "tags"),
        (b"<system>" + b" " * 9_000_000, "bytes"),
        ("<system " + " ".join(f'a{n}="1"' for n in range(100)) + "/>", "attributes"),
    ],
    ids=["deep", "many", "large", "wide"],
)
def test_size_and_depth_are_capped_before_a_tree_exists(text: str | bytes, what: str) -> None:
    """A file too deep, too large or with too many tags ends in one line naming the cap."""
    with pytest.raises(InputError, match=what):
        read_topology(text, "hostile")


@pytest.mark.parametrize(
    "text", ["", "no XML", "<system>", "<topology/>", "<system/>", b"\xff\xfe<", '<a b="1" b="2"/>']
)
def test_what_is_no_topology_is_refused_in_one_line(text: str | bytes) -> None:
    """Neither a traceback nor an empty machine."""
    with pytest.raises(InputError) as refused:
        read_topology(text, "x")
    assert "\n" not in str(refused.value)


def test_comments_are_skipped_as_nccl_skips_them() -> None:
    """RCCL's own models begin with a comment that XML forbids; NCCL skips to the next `-->`, wherever it stands."""
    plain = hgx()
    told = "<!-------\n - how -- made\n ------->\n" + plain.replace("</system>", "<!-- <cpu/> --></system>")
    assert read_topology(told, "x") == read_topology(plain, "x")


def test_a_comment_without_an_end_is_refused_however_often_it_begins() -> None:
    """Not quadratic: each beginning would otherwise be followed to the end of the file."""
    started = time.process_time()
    with pytest.raises(InputError, match="topology XML"):
        read_topology("<system>" + "<!--" * 1_000_000, "hostile")
    assert time.process_time() - started < 1.0


ABSURD = [
    ("duplicate busid", system([gpu(0, "0000:01:00.0"), gpu(1, "0000:01:00.0")]), "appears twice", False),
    ("duplicate dev", system([nic(0, "0000:01:00.0", name="a"), nic(0, "0000:02:00.0", name="b")]), "mixes", False),
    ("speed -1", system([nic(0, "0000:01:00.0", -1)]), "plans with 10 Gbit/s", False),
    ("speed beyond any NIC", system([nic(0, "0000:01:00.0", 200_000_000)]), "beyond any NIC", False),
    ("no busid", system(['<pci class="0x030200"><gpu dev="0" sm="90"/></pci>']), "no busid", False),
    ("no dev", system([pci("0000:01:00.0", "0x02", '<nic><net name="m"/></nic>')]), "NCCL ignores it", True),
    ("no numaid", "<system><cpu/></system>", "no numaid", False),
    ("bad width", system([pci("0000:01:00.0", "0x030200", width=-3)]), "16 lanes are assumed", False),
    ("bad speed", system([pci("0000:01:00.0", "0x030200", speed="fast")]), "plans with 8 GT/s", False),
    (
        "NVLink to nobody",
        system([gpu(0, "0000:01:00.0", links='<nvlink target="0000:99:00.0" count="4" tclass="0x030200"/>')]),
        "is no GPU here",
        True,
    ),
    (
        "NVLink to itself",
        system([gpu(0, "0000:01:00.0", links='<nvlink target="0000:01:00.0" count="4" tclass="0x030200"/>')]),
        "a link to itself",
        True,
    ),
    (
        "switch links in a circle",
        system(
            [
                switch("0000:01:00.0", '<pcilink target="0000:02:00.0"/>', switch("0000:03:00.0")),
                switch("0000:02:00.0", '<pcilink target="0000:02:00.0"/>'),
            ]
        ),
        "no other switch",
        True,
    ),
    ("device inside a device", system([pci("0000:01:00.0", "0x030200", pci("0000:02:00.0", "0x02"))]), "ignores", True),
    ("a tag out of place", f"<system><cpu numaid='0' {INTEL}><gpu/></cpu></system>", "directly in <cpu>", True),
]


@pytest.mark.fault("I09")
@pytest.mark.parametrize(("text", "said", "partial"), [row[1:] for row in ABSURD], ids=[row[0] for row in ABSURD])
def test_absurd_but_valid_files_are_listed_and_marked(text: str, said: str, partial: bool) -> None:
    """Each absurdity is one line; the graph says whether something is missing from it; nothing recurses."""
    topology = read_topology(text, "absurd")
    assert any(said in problem for problem in topology.problems), topology.problems
    assert topology.partial is partial
    view_of_topology(topology)


@pytest.mark.fault("I09")
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(MACHINES)), st.integers(1, 12))
def test_randomly_spoiled_files_never_crash(rng: object, name: str, times: int) -> None:
    """Attributes lost, swapped and garbled anywhere: a view with problems, or one line of refusal."""
    import random
    import re

    assert isinstance(rng, random.Random)
    text = MACHINES[name]
    for _ in range(times):
        values = list(re.finditer(r'[a-z_]+="[^"]*"', text))
        one, other = rng.choice(values), rng.choice(values)
        new = rng.choice(["", 'busid="x"', 'dev="-9"', 'count="99999999999999999999"', 'class="0x06"', other[0]])
        text = text[: one.start()] + new + text[one.end() :]
    try:
        topology = read_topology(text, "spoiled")
    except InputError:
        return
    view = view_of_topology(topology)
    assert len(view.pairing.gpus) == len(topology.gpus)


def test_every_cut_of_a_file_is_refused_or_whole() -> None:
    """A file that breaks off is never half a machine."""
    text = MACHINES["four_rails"]
    for end in range(0, len(text), 7):
        with pytest.raises(InputError):
            read_topology(text[:end], "cut")


def test_devices_known_by_class_only_are_numbered_by_address() -> None:
    """Files of cloud providers hold bare pci tags; their GPUs and NICs are found and put in order."""
    leaves = [pci("0002:00:00.0", "0x030200"), pci("0001:00:00.0", "0x030200"), pci("0101:00:00.0", "0x020700")]
    topology = read_topology(system([switch("ffff:ff:01.0", *leaves)]), "bare")
    assert [(one.id, str(one.address)) for one in topology.gpus] == [("gpu0", "0001:00:00.0"), ("gpu1", "0002:00:00.0")]
    assert [(one.name, one.rate) for one in topology.nics] == [("0101:00:00.0", None)]
    assert topology.notes


def test_names_from_a_file_are_made_visible() -> None:
    """A terminal escape in a name arrives as text."""
    topology = read_topology(system([nic(0, "0000:01:00.0", name="mlx5&#x202e;0")]), "x")
    assert topology.nics[0].name == "mlx5\\u202e0"


def test_more_tags_than_nccl_holds_is_said() -> None:
    """NCCL's own limit of 256 is lower than netkit's."""
    many = [switch(f"0000:{n // 32:02x}:{n % 32:02x}.0") for n in range(300)]
    assert any("at most 256" in problem for problem in read_topology(system(many), "large").problems)
