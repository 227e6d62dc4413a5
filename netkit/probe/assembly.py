"""The members of a probe, greeted and listening: who they are, where each rail answers, and what their NICs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netkit.errors import ProbeError
from netkit.model.probe import Fabric
from netkit.model.text import visible
from netkit.probe.launchers.roll_call import Order, RollCall, Task
from netkit.probe.launchers.session import Fields
from netkit.probe.rails import differences, nic_of, payload_rate, rail_addresses
from netkit.probe.request import ProbeRequest

CONNECT_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Every member of the gang by rank: its name, and for each rail its address and the port it listens on."""

    request: ProbeRequest
    ranks: RollCall
    fabric: Fabric
    addresses: tuple[tuple[str, ...], ...]
    ports: tuple[tuple[int, ...], ...]
    rank_of: Mapping[str, int]
    warnings: tuple[str, ...]
    """Where hosts differ in what makes rates differ."""
    interfaces: tuple[tuple[str, ...], ...] = ()
    """By rank, those that hold the rails' addresses, as far as a host tells."""

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, by rank."""
        return self.fabric.nodes

    def endpoint(self, rank: int, rail: int) -> list[str | int]:
        """Return address and port of a rank's rail, as the agent takes them."""
        return [self.addresses[rank][rail], self.ports[rank][rail]]

    def paced(self, sender: str, receiver: str, rail: int) -> Fields:
        """Return what an order adds where links exist only on paper."""
        pacing = self.request.pacing
        return {} if pacing is None else {"tx_rate": pacing(sender, receiver, rail)}


def declared_fabric(request: ProbeRequest) -> Fabric:
    """Return the gang as it was asked for, before any member has answered."""
    rails = max((len(row) for row in request.rails.addresses.values()), default=1)
    names = tuple(member.name for member in request.members)
    return Fabric(nodes=names, rails=rails, leaf_of=request.leaf_of, line_rate=request.line_rate)


def assemble(request: ProbeRequest, ranks: RollCall) -> Assembly:
    """Greet every rank, choose its rails and have them listen.

    Raises:
        ProbeError: a host does not have the rails asked for, or cannot listen on them.
    """
    names = tuple(member.name for member in request.members)
    hellos = ranks.muster({"command": "hello"}, request.start_seconds)
    addresses = tuple(
        tuple(rail_addresses(request.rails, name, hello)) for name, hello in zip(names, hellos, strict=True)
    )
    rails = len(addresses[0])
    line_rate, warnings = from_nics(request, rails, hellos, addresses)
    return Assembly(
        request=request,
        ranks=ranks,
        fabric=Fabric(nodes=names, rails=rails, leaf_of=request.leaf_of, line_rate=line_rate),
        addresses=addresses,
        ports=_listen(request, ranks, addresses),
        rank_of={name: rank for rank, name in enumerate(names)},
        warnings=warnings,
        interfaces=tuple(
            tuple(nic.name for address in own if (nic := nic_of(hello, address)) is not None)
            for hello, own in zip(hellos, addresses, strict=True)
        ),
    )


def from_nics(
    request: ProbeRequest, rails: int, hellos: Sequence[Fields], addresses: Sequence[Sequence[str]]
) -> tuple[float | None, tuple[str, ...]]:
    """Return the line rate's payload, and what differs between the hosts' NICs."""
    names = [member.name for member in request.members]
    mtus: list[int] = []
    warnings = []
    for rail in range(rails):
        row = {name: nic_of(hello, own[rail]) for name, hello, own in zip(names, hellos, addresses, strict=True)}
        mtus += [nic.mtu for nic in row.values() if nic and nic.mtu]
        if (difference := differences(row)) is not None:
            warnings.append(f"rail {rail}: {difference}")
    known = request.wire_rate is None
    rate = request.line_rate if known else payload_rate(request.wire_rate or 0.0, min(mtus, default=1500))
    return rate, tuple(warnings)


def _listen(request: ProbeRequest, ranks: RollCall, addresses: Sequence[Sequence[str]]) -> tuple[tuple[int, ...], ...]:
    orders = [
        Order(rank=rank, task="open", command={"command": "open", "addresses": own})
        for rank, own in enumerate(addresses)
    ]
    opened = ranks.carry_out(orders, CONNECT_SECONDS + request.start_seconds)
    return tuple(_ports(request, opened, rank, own) for rank, own in enumerate(addresses))


def _ports(request: ProbeRequest, opened: Mapping[Task, Fields], rank: int, own: Sequence[str]) -> tuple[int, ...]:
    result = opened.get((rank, "open"), {})
    ports = result.get("ports")
    if not isinstance(ports, list) or len(ports) != len(own):
        cause = visible(str(result.get("detail", "no answer")), 200)
        name = request.members[rank].name
        raise ProbeError("opening rails", f"{name} cannot listen on {', '.join(own)}: {cause}", "check them")
    return tuple(int(port) for port in ports)
