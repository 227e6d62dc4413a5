"""The one YAML that people write for netkit, written to hurt it."""

from __future__ import annotations

import time

import pytest

from netkit.errors import InputError
from netkit_exporters.web.config import LARGEST_BYTES, parse

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)
HOSTILE = {
    "bomb": (BOMB, "alias"),
    "object": ("rate_limit: !!python/object/apply:os.system [id]\n", "line 1"),
    "twice": ("rate_limit: {}\nrate_limit: {}\n", "given twice"),
    "tabs": ("tls_server_config:\n\tcert_file: a\n", "line 2"),
    "50 MB": ("a: " + "x" * (50 << 20), f"more than {LARGEST_BYTES}"),
    "zero byte": ("rate_limit: {}\n\0", "not valid YAML|special characters"),
    "deep": ("[" * 20_000, "levels"),
}


@pytest.mark.fault("I11")
@pytest.mark.parametrize(("text", "says"), HOSTILE.values(), ids=HOSTILE)
def test_it_is_refused_in_one_line_and_soon(text: str, says: str) -> None:
    """Nothing is expanded, run or guessed; where YAML itself is wrong its line is named."""
    started = time.perf_counter()
    with pytest.raises(InputError, match=says) as caught:
        parse(text, "web.yml")
    assert time.perf_counter() - started < 10.0
    assert "\n" not in str(caught.value)
