"""Settings of a job from every kind of text people keep them in, and NCCL's order of precedence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.model.environment import Environment, Variable, as_integer, parse_nccl_version
from netkit.sources.environment import parse_environment, parse_nccl_conf


@pytest.mark.parametrize(
    "text",
    [
        "NCCL_IB_TC=106\n",
        "export NCCL_IB_TC=106",
        '# fabric\nexport NCCL_IB_TC="106"\n\nif true; then\n',
        "PATH=/bin\0NCCL_IB_TC=106\0HOME=/root\0",
        "Environment=NCCL_IB_TC=106",
        "ENV NCCL_IB_TC='106'",
    ],
)
def test_a_variable_is_found_in_every_form(text: str) -> None:
    """Env output, shell scripts, /proc/PID/environ, systemd units, container files."""
    found = {one.name: one.value for one in parse_environment(text, "job")}
    assert found["NCCL_IB_TC"] == "106"


def test_an_nccl_file_keeps_quotes_and_drops_comments() -> None:
    """NCCL reads values as they stand."""
    found = parse_nccl_conf('# site\nNCCL_DEBUG=WARN # here too\nNCCL_IB_HCA="mlx5"\nnoise\n', "nccl.conf")
    assert [(one.name, one.value) for one in found] == [("NCCL_DEBUG", "WARN"), ("NCCL_IB_HCA", '"mlx5"')]


def test_the_environment_wins_over_files_and_the_first_file_over_the_next() -> None:
    """As NCCL sets only what is not set yet; in one place the later line wins."""

    def one(value: str, source: str) -> Variable:
        return Variable(name="NCCL_IB_TC", value=value, source=source)

    files = ((one("41", "home"),), (one("52", "etc"),))
    assert Environment(given=True, files=files).number("NCCL_IB_TC") == 41
    assert (
        Environment(given=True, variables=(one("1", "env"), one("106", "env")), files=files).text("NCCL_IB_TC") == "106"
    )
    assert Environment(given=True).number("NCCL_IB_TC") is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("106", 106), ("0x6a", 106), ("010", 8), ("-1", -1), ("8M", None), ("", None), ("09", None), ("1.5", None)],
)
def test_integers_are_read_as_c_reads_them(text: str, number: int | None) -> None:
    """Decimal, hexadecimal, octal; a unit or a fraction is no integer."""
    assert as_integer(text) == number


@pytest.mark.parametrize(
    ("text", "version"),
    [("2.27.3", (2, 27, 3)), ("v2.27", (2, 27, 0)), ("2.27.3-1+cuda12.9", (2, 27, 3)), ("two", None), ("2", None)],
)
def test_versions_are_read(text: str, version: tuple[int, int, int] | None) -> None:
    """With or without patch level and build."""
    assert parse_nccl_version(text) == version


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_control_character_left(text: str) -> None:
    """Values come from strangers."""
    for one in (*parse_environment(text, "x"), *parse_nccl_conf(text, "x")):
        assert one.value.isprintable()
