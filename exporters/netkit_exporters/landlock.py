"""The exporter gives up writing files before it reads the first counter: Landlock, where the kernel has it.

Linux: Documentation/userspace-api/landlock.rst, include/uapi/linux/landlock.h; landlock(7). Writing below /dev stays
possible, because GPU drivers are asked through device files that are opened for writing. Threads and children started
afterwards inherit it; no_new_privs(2) comes with it.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
"""REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, _DIR, _REG, _SOCK, _FIFO, _BLOCK, _SYM."""
_SINCE = ((2, 1 << 13), (3, 1 << 14))
"""REFER and TRUNCATE, with the version that brought them."""


def forbid_writing() -> int:
    """Forbid this process and its children to write, make or remove files; the Landlock version, 0 without one."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    abi = int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG)))
    if abi < 1:
        return 0
    handled = struct.pack("=Q", _WRITE_FILE | _REMOVE_AND_MAKE | sum(bit for since, bit in _SINCE if abi >= since))
    ruleset = int(libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), ctypes.c_uint32(0)))
    if ruleset < 0:
        return 0
    try:
        _allow_devices(libc, ruleset)
        confined = libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        return abi if confined and libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) == 0 else 0
    finally:
        os.close(ruleset)


def _allow_devices(libc: object, ruleset: int) -> None:
    import ctypes

    assert isinstance(libc, ctypes.CDLL)
    with suppress(OSError):
        devices = os.open("/dev", os.O_PATH | os.O_CLOEXEC)
        try:
            beneath = struct.pack("=Qi", _WRITE_FILE, devices)
            libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, beneath, ctypes.c_uint32(0))
        finally:
            os.close(devices)
