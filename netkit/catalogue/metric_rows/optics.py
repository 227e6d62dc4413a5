"""Series of optical modules and cables."""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_AREA = Area(
    collector="optics",
    prefix="module_",
    labels=("device", "netdev"),
    privilege="CAP_NET_ADMIN in the host network namespace",
)

INFO = _AREA.gauge(
    "info",
    "Always 1: form, maker and serial number of the module.",
    "form",
    "vendor",
    "part_number",
    "serial",
    "copper",
)
TEMPERATURE = _AREA.gauge("temperature_celsius", "Degrees Celsius of the module.", unit="celsius")
SUPPLY = _AREA.gauge("supply_volts", "Volts the module is fed with.", unit="volts")
RECEIVED = _AREA.gauge("received_power_watts", "Watts of light received on this lane.", "lane", unit="watts")
SENT = _AREA.gauge("sent_power_watts", "Watts of light sent on this lane.", "lane", unit="watts")
BIAS = _AREA.gauge("bias_amperes", "Amperes through the laser of this lane, sent side.", "lane", unit="amperes")
ALARM = _AREA.gauge("alarm", "1 while the module warns of this by itself; absent otherwise.", "alarm")
LOST = _AREA.gauge(
    "signal_lost",
    "1 when the signal received or sent on this lane was lost since the last reading.",
    "lane",
    "direction",
)
TEMPERATURE_LIMIT = _AREA.gauge(
    "temperature_limit_celsius",
    "Degrees Celsius at which the module itself raises this alarm.",
    "limit",
    unit="celsius",
)
RECEIVED_LIMIT = _AREA.gauge(
    "received_power_limit_watts", "Watts received at which the module itself raises this alarm.", "limit", unit="watts"
)

ROWS = (INFO, TEMPERATURE, SUPPLY, RECEIVED, SENT, BIAS, ALARM, LOST, TEMPERATURE_LIMIT, RECEIVED_LIMIT)
