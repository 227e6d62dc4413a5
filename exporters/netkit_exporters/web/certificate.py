"""When a certificate expires: the second time of its validity, found by walking its DER.

RFC 5280 section 4.1 (Certificate, Validity), X.690 (DER). The standard library reads certificates of others, not one's
own, and a whole library for one date would be the exporter's largest dependency.
"""

from __future__ import annotations

import ssl
from calendar import timegm
from datetime import datetime

_SEQUENCE, _VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18
_FORMS = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}
_END = "-----END CERTIFICATE-----"


def expires_at(pem: str) -> float | None:
    """Return when the first certificate of a PEM text expires, in seconds since 1970; None when it cannot be told."""
    first = pem[pem.find("-----BEGIN CERTIFICATE-----") : pem.find(_END) + len(_END)]
    try:
        return _not_after(ssl.PEM_cert_to_DER_cert(first))
    except (ValueError, IndexError):
        return None


def _not_after(der: bytes) -> float:
    _, certificate, _ = _element(der)
    _, signed, _ = _element(certificate)
    kind, _, after = _element(signed)
    rest = after if kind == _VERSION else signed
    for _ in ("serial number", "signature", "issuer"):
        _, _, rest = _element(rest)
    kind, validity, _ = _element(rest)
    if kind != _SEQUENCE:
        raise ValueError("no validity where it belongs")
    _, _, rest = _element(validity)
    kind, text, _ = _element(rest)
    moment = datetime.strptime(text.decode("ascii"), _FORMS.get(kind, ""))  # noqa: DTZ007 - both forms end in Z: UTC
    return float(timegm(moment.timetuple()))


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Split off the first element: its kind, its content, what follows."""
    kind, length, start = data[0], data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if len(data) < start + length:
        raise ValueError("an element is longer than what holds it")
    return kind, data[start : start + length], data[start + length :]
