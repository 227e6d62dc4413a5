"""Cambricon's and Hygon's tables as records; the layouts are the published ones, the machines are synthetic."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.gpu import GpuVendor
from netkit.model.missing import Missing
from netkit.sources.cambricon import parse_cnmon
from netkit.sources.hygon import parse_hy_smi

RULE = "+-------------------------------+----------------------+-----------------------+\n"
PROCESSES = """
+------------------------------------------------------------------------------+
| Processes:                                                                   |
|  Card  MI  PID     Command Line                             MLU Memory Usage |
|==============================================================================|
|  No running processes found                                                  |
+------------------------------------------------------------------------------+
"""
CNMON_5 = (
    """\
+------------------------------------------------------------------------------+
| CNMON v5.10.20                                               Driver v5.10.22 |
"""
    + RULE
    + """\
| Card  VF  Name       Firmware |               Bus-Id | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage | SR-IOV   Compute-Mode |
|===============================+======================+=======================|
| 0     /   MLU370-X8    v1.1.6 |         0000:39:00.0 | 73%               N/A |
|  0%   41C        106 W/ 250 W |  8000 MiB/ 23374 MiB | N/A           Default |
"""
    + RULE
    + """\
| 1     /   MLU370-X8    v1.1.6 |         0000:3d:00.0 | N/A                 0 |
| N/A   39C        N/A  / 250 W |     0 MiB/ 23374 MiB | FULL          Default |
"""
    + RULE
    + PROCESSES
)
CNMON_4 = (
    """\
Mon Oct 17 11:22:22 2022
+------------------------------------------------------------------------------+
| CNMON v4.20.12                                                               |
"""
    + RULE
    + """\
| Card  VF  Name       Firmware | Inited        Driver | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage |         vMemory-Usage |
|===============================+======================+=======================|
| 2     /   MLU370-X4    v1.1.6 | On          v4.20.14 | 0%          N/A       |
|  0%   32C         30 W/ 150 W |     0 MiB/ 23308 MiB | 10240 MiB/1048576 MiB |
"""
    + RULE
)
HY_SMI = """
============================ System Management Interface =============================
======================================================================================
DCU     Temp     AvgPwr     Perf     PwrCap     VRAM%      DCU%      Mode
0       67.0C    108.0W     manual   600.0W     87%        74%       Normal
1       51.0°C   29.0W      auto     N/A        0%         0.0%      N/A
======================================================================================
=================================== End of SMI Log ===================================
"""


def test_a_table_with_addresses_is_read() -> None:
    """CNMON 5: address, memory in bytes, utilisation as a share; `N/A` is missing; nobody runs."""
    found = parse_cnmon(CNMON_5)
    first, second = found.gpus
    assert found.driver == "v5.10.22"
    assert (first.vendor, first.name, str(first.address)) == (GpuVendor.CAMBRICON, "MLU370-X8", "0000:39:00.0")
    assert (first.memory.used_bytes, first.memory.total_bytes) == (8000 << 20, 23374 << 20)
    assert (first.utilisation.compute, first.power.draw_watts, first.power.limit_watts) == (0.73, 106, 250)
    assert (first.temperature.core_celsius, first.processes) == (41, ())
    assert isinstance(second.utilisation.compute, Missing)
    assert isinstance(second.power.draw_watts, Missing)


def test_an_older_table_has_no_addresses() -> None:
    """CNMON 4.20: the driver is in the row; processes of a table without that part are missing, not none."""
    found = parse_cnmon(CNMON_4)
    (only,) = found.gpus
    assert (found.driver, only.index, only.power.draw_watts) == ("v4.20.14", 2, 30)
    assert isinstance(only.address, Missing)
    assert isinstance(only.processes, Missing)


def test_running_processes_are_missing_not_none() -> None:
    """Nobody published such a row."""
    text = CNMON_5.replace("No running processes found", "0     /   4711    python train.py               8000 MiB")
    assert all(isinstance(gpu.processes, Missing) for gpu in parse_cnmon(text).gpus)


def test_a_dcu_is_read() -> None:
    """Watts, degrees and utilisation; the table says nothing else that has a place."""
    first, second = parse_hy_smi(HY_SMI).gpus
    assert (first.vendor, first.index, first.utilisation.compute) == (GpuVendor.HYGON, 0, 0.74)
    assert (first.power.draw_watts, first.power.limit_watts, first.temperature.core_celsius) == (108, 600, 67)
    assert isinstance(first.address, Missing)
    assert isinstance(second.power.limit_watts, Missing)
    assert second.temperature.core_celsius == 51


@pytest.mark.parametrize("parse", [parse_cnmon, parse_hy_smi])
@pytest.mark.parametrize("text", ["", "command failed: no driver", CNMON_5[:400], HY_SMI[:300]])
def test_what_is_no_table_is_refused(parse: object, text: str) -> None:
    """An error message, or a table cut before its first device, is not a node without devices."""
    assert callable(parse)
    with pytest.raises(InputError, match="text"):
        parse(text)


@settings(deadline=None)
@given(st.sampled_from([CNMON_5, CNMON_4, HY_SMI]), st.data())
def test_tables_cut_anywhere_give_whole_devices(text: str, data: st.DataObject) -> None:
    """Devices come whole or not at all, and nothing but InputError is raised."""
    parse = parse_hy_smi if text is HY_SMI else parse_cnmon
    whole = [gpu.power for gpu in parse(text).gpus]
    length = data.draw(st.integers(0, len(text)))
    try:
        cut = parse(text[:length])
    except InputError:
        return
    assert [gpu.power for gpu in cut.gpus] == whole[: len(cut.gpus)]


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing else is raised."""
    for parse, start in ((parse_cnmon, "| CNMON v5.10 |\n"), (parse_hy_smi, HY_SMI.partition("0       67")[0])):
        with pytest.raises(InputError):
            parse(start + text)
