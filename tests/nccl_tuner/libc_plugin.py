"""The example tuner plugin's reader, step by step with the C library's own functions: an oracle for ours.

A port of what loadConfig of NCCL's plugins/tuner/example does, in calls instead of words: fgets on a stream in memory,
strcspn, strtok_r, strtoull and atoi are glibc's.
"""

from __future__ import annotations

import ctypes

from netkit.nccl_tuner.grammar import ALGORITHMS, COLLECTIVES, PROTOCOLS, Row

_LINE_BYTES = 256
_MOST_FIELDS = 10
_C = ctypes.CDLL(None)
_C.fmemopen.restype = ctypes.c_void_p
_C.fmemopen.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
_C.fgets.restype = ctypes.c_void_p
_C.fgets.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_C.fclose.argtypes = (ctypes.c_void_p,)
_C.strtok_r.restype = ctypes.c_void_p
_C.strtok_r.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_C.strcspn.restype = ctypes.c_size_t
_C.strcspn.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_C.strtoull.restype = ctypes.c_ulonglong
_C.strtoull.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)
_C.atoi.restype = ctypes.c_int
_C.atoi.argtypes = (ctypes.c_char_p,)


def load_config(data: bytes) -> list[Row]:
    """Return the rows the plugin would hold after reading a file of these bytes."""
    if not data:
        return []  # fmemopen refuses an empty buffer; fopen of an empty file reads nothing
    source = ctypes.create_string_buffer(data, len(data))
    stream = _C.fmemopen(source, len(data), b"r")
    line = ctypes.create_string_buffer(_LINE_BYTES)
    rows = []
    while _C.fgets(line, _LINE_BYTES, stream):
        if line[0] in (b"#", b"\n"):
            continue
        line[_C.strcspn(line, b"\n")] = b"\0"
        tokens = _tokens(line)
        if len(tokens) >= 8:
            rows.append(_row(tokens))
    _C.fclose(stream)
    return rows


def _tokens(line: ctypes.Array[ctypes.c_char]) -> list[bytes]:
    saved = ctypes.c_void_p()
    tokens: list[bytes] = []
    token = _C.strtok_r(line, b",", ctypes.byref(saved))
    while token and len(tokens) < _MOST_FIELDS:
        tokens.append(_trimmed(ctypes.string_at(token)))
        token = _C.strtok_r(None, b",", ctypes.byref(saved))
    return tokens


def _trimmed(token: bytes) -> bytes:
    begin = 0
    while begin < len(token) and token[begin] in b" \t":
        begin += 1
    end = len(token) - 1
    while end > begin and token[end] in b" \t":
        end -= 1
    return token[begin : max(end + 1, begin)]


def _row(tokens: list[bytes]) -> Row:
    return Row(
        collective=_named(tokens[0], COLLECTIVES, "allreduce"),
        min_bytes=_C.strtoull(tokens[1], None, 10),
        max_bytes=_C.strtoull(tokens[2], None, 10),
        algorithm=_named(tokens[3], ALGORITHMS, "ring"),
        protocol=_named(tokens[4], PROTOCOLS, "simple"),
        channels=_C.atoi(tokens[5]),
        nodes=_C.atoi(tokens[6]),
        ranks=_C.atoi(tokens[7]),
        pipe_ops=_C.atoi(tokens[8]) if len(tokens) > 8 else -1,
        registered=_C.atoi(tokens[9]) if len(tokens) > 9 else -1,
    )


def _named(token: bytes, known: tuple[str, ...], otherwise: str) -> str:
    return next((name for name in known if name.encode() == token), otherwise)
