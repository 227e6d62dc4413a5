"""Huawei Ascend: the tables of `npu-smi info` and the answers of `hccn_tool -i <device> -<what> -g`, as text.

Huawei "HCCN Tool Interface Reference" and "npu-smi Command Reference"; layouts as printed by npu-smi 23 to 25. The
network port sits inside the accelerator, so the host's own counters do not show it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from netkit.errors import InputError
from netkit.model.counter import Setting
from netkit.model.gpu import (
    Gpu,
    GpuClocks,
    GpuEcc,
    GpuInventory,
    GpuMemory,
    GpuPcie,
    GpuPower,
    GpuProcess,
    GpuTemperature,
    GpuUtilisation,
    GpuVendor,
    NpuPort,
)
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.model.text import visible

_LONGEST_TEXT = 4 << 20
_LONGEST_LINE = 400
_VERSION = re.compile(r"\| npu-smi \S{1,40} +Version: (\S{1,40}) *\|")
_DEVICE = re.compile(
    r"\| (?P<npu>[0-9]{1,4}) +(?P<name>\S{1,40}) *\| *(?P<health>\S{1,20}) *"
    r"\| *(?P<power>[0-9.]{1,10}|-) +(?P<temperature>[0-9]{1,4}|-) .*\|"
)
_CHIP = re.compile(
    r"\| (?P<chip>[0-9]{1,4})(?: +[0-9]{1,4})? *\| *(?P<bus>[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]|NA) *"
    r"\| *(?P<core>[0-9]{1,3}|-|NA) +(?:[0-9]{1,9} */ *[0-9]{1,9} +)?(?P<used>[0-9]{1,9}) */ *(?P<total>[0-9]{1,9}) *\|"
)
_PROCESS = re.compile(
    r"\| (?P<npu>[0-9]{1,4}) +(?P<chip>[0-9]{1,4}) *\| (?P<pid>[0-9]{1,10}) *\| (?P<name>\S[^|]{0,100}?) *"
    r"\| (?P<used>[0-9]{1,9}) *(?:\|.*)?"
)
_STATISTIC = re.compile(r"([a-z][a-z0-9_]{2,60}):([0-9]{1,20})")
_PREFIX = re.compile(r"^\[device [0-9]{1,4}\] ?")

HCCN_QUESTIONS = ("link", "ip", "speed", "net_health", "fec", "pfc", "tls", "stat", "link_stat", "optical")
"""What `parse_hccn` reads, each one run of `hccn_tool -i <device> -<that> -g`."""
_NOT_SHOWN = "npu-smi info does not show it"


def parse_npu_smi(text: str) -> GpuInventory:
    """Read the two tables of `npu-smi info`; InputError for a text without the first one."""
    lines = _lines(text)
    version = next((match[1] for line in lines if (match := _VERSION.match(line))), None)
    if version is None:
        raise InputError("npu-smi text", "the output of `npu-smi info`")
    processes = [match for line in lines if (match := _PROCESS.fullmatch(line))]
    pairs: list[tuple[re.Match[str], re.Match[str]]] = []
    device: re.Match[str] | None = None
    for line in lines:
        if chip := _CHIP.fullmatch(line):
            pairs += [(device, chip)] if device else []
        else:
            device = _DEVICE.fullmatch(line)
    if not pairs and any(_DEVICE.fullmatch(line) for line in lines):
        raise InputError("npu-smi text", "two lines for each device, as npu-smi 23 to 25 print them")
    gpus = tuple(_gpu(index, device, chip, processes) for index, (device, chip) in enumerate(pairs))
    return GpuInventory(driver=visible(version), gpus=gpus, silent=(), features_off=())


def _lines(text: str) -> list[str]:
    if len(text) > _LONGEST_TEXT:
        raise InputError("npu-smi or hccn_tool text", f"at most {_LONGEST_TEXT >> 20} MiB")
    return [line[:_LONGEST_LINE].strip() for line in text.split("\n")]


def _not_shown(what: str, detail: str = _NOT_SHOWN) -> Missing:
    return Missing(reason=Reason.UNSUPPORTED, where=f"npu-smi {what}", detail=detail)


def _gpu(index: int, device: re.Match[str], chip: re.Match[str], processes: list[re.Match[str]]) -> Gpu:
    own = [found for found in processes if (found["npu"], found["chip"]) == (device["npu"], chip["chip"])]
    nothing = _not_shown("pcie")
    return Gpu(
        vendor=GpuVendor.ASCEND,
        index=index,
        uuid=_not_shown("uuid"),
        address=_address(chip["bus"]),
        name=visible(device["name"]),
        memory=GpuMemory(total_bytes=int(chip["total"]) << 20, used_bytes=int(chip["used"]) << 20),
        utilisation=GpuUtilisation(compute=_percent(chip["core"]), memory=_not_shown("memory utilisation")),
        clocks=GpuClocks(**dict.fromkeys(GpuClocks.__slots__, _not_shown("clocks"))),
        power=GpuPower(draw_watts=_measured(device["power"], "power"), limit_watts=_not_shown("power limit")),
        temperature=GpuTemperature(
            core_celsius=_measured(device["temperature"], "temperature"), memory_celsius=_not_shown("HBM temperature")
        ),
        throttle=_not_shown("throttle"),
        pcie=GpuPcie(generation=nothing, width=nothing, max_generation=nothing, max_width=nothing, replays=nothing),
        links=_not_shown("hccs"),
        fabric=_not_shown("fabric"),
        mig_enabled=_not_shown("vnpu"),
        ecc=GpuEcc(**dict.fromkeys(GpuEcc.__slots__, _not_shown("ecc"))),
        processes=tuple(_process(found) for found in own),
    )


def _address(shown: str) -> PciAddress | Missing:
    return _not_shown("Bus-Id", shown) if shown == "NA" else PciAddress.parse(shown)


def _percent(shown: str) -> float | Missing:
    return int(shown) / 100 if shown.isdecimal() and int(shown) <= 100 else _not_shown("AICore", shown)


def _measured(shown: str, what: str) -> float | Missing:
    return float(shown) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", shown) else _not_shown(what, shown)


def _process(found: re.Match[str]) -> GpuProcess:
    return GpuProcess(
        pid=int(found["pid"]), compute=True, name=visible(found["name"]), memory_bytes=int(found["used"]) << 20
    )


def parse_hccn(device: int, texts: Mapping[str, str]) -> NpuPort:
    """Read the answers for one device; one not asked is Missing.

    `texts` maps `HCCN_QUESTIONS` to what the tool printed.
    """
    answers = {name: _answer(text) for name, text in texts.items()}
    speed = _field(answers, "speed", r"Speed: ([0-9]{1,9}) Mb/s")
    lossless = _field(answers, "pfc", r"enabled((?:[ \t]+[01]){8})(?:\s|$)")
    tls = _field(answers, "tls", r"tls switch\[([01])\]")
    link = _field(answers, "link", r"link status: (UP|DOWN)")
    ups = _field(answers, "link_stat", r"link up count *: ([0-9]{1,12})")
    module = _field(answers, "optical", r"present *: (present|not present)")
    celsius = _field(answers, "optical", r"temperature *: (-?[0-9]{1,4}) C")
    return NpuPort(
        device=device,
        up=link if isinstance(link, Missing) else link == "UP",
        address=_field(answers, "ip", r"ipaddr:([0-9a-fA-F.:]{3,39})(?:\n|$)"),
        speed_bytes_per_second=speed if isinstance(speed, Missing) else int(speed) * 1e6 / 8,
        health=_field(answers, "net_health", r"net health status: ([A-Za-z ]{1,40})"),
        fec=_field(answers, "fec", r"fec mode: ([A-Za-z0-9 ]{1,40})"),
        lossless=lossless if isinstance(lossless, Missing) else _ones(lossless),
        tls=tls if isinstance(tls, Missing) else tls == "1",
        link_ups=ups if isinstance(ups, Missing) else int(ups),
        module_present=module if isinstance(module, Missing) else module == "present",
        module_celsius=celsius if isinstance(celsius, Missing) else float(celsius),
        counters=_statistics(answers),
    )


def _answer(text: str) -> str:
    return "\n".join(_PREFIX.sub("", line).strip() for line in _lines(text))


def _field(answers: Mapping[str, str], name: str, pattern: str) -> str | Missing:
    where = f"hccn_tool -{name} -g"
    if name not in answers:
        return Missing(reason=Reason.ABSENT, where=where, detail="not asked")
    match = re.search(pattern, answers[name])
    shown = visible(answers[name].partition("\n")[0], 80)
    return match[1].strip() if match else Missing(reason=Reason.UNSUPPORTED, where=where, detail=shown or "empty")


def _ones(shown: str) -> tuple[int, ...]:
    return tuple(priority for priority, bit in enumerate(shown.split()) if bit == "1")


def _statistics(answers: Mapping[str, str]) -> tuple[Setting, ...] | Missing:
    if "stat" not in answers:
        return Missing(reason=Reason.ABSENT, where="hccn_tool -stat -g", detail="not asked")
    rows = [match for line in answers["stat"].split("\n") if (match := _STATISTIC.fullmatch(line))]
    if not rows:
        return Missing(reason=Reason.UNSUPPORTED, where="hccn_tool -stat -g", detail="no counters in the answer")
    return tuple(Setting(name=row[1], value=int(row[2])) for row in rows)
