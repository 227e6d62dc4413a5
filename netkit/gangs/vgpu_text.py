"""The text form of HAMi and Volcano for allotted devices: `,` inside a device, `:` after one, `;` after a container."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A device or a part of one, given to the container at a place in the pod's spec."""

    container: int
    id: str
    type: str


def slices(text: str) -> Iterator[Slice]:
    """Yield each device of `GPU-a,NVIDIA,20000,30:GPU-b,NVIDIA,20000,30:;`; what is no device is passed over."""
    for at, container in enumerate(text.split(";")):
        for device in container.split(":"):
            fields = [field.strip() for field in device.split(",")]
            if len(fields) >= 2 and fields[0]:
                yield Slice(container=at, id=fields[0], type=fields[1])
