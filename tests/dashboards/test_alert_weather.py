"""What happens to counters in any fleet must not wake anybody: resets by the hundred, a link that flaps and is fine."""

from __future__ import annotations

import math
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from netkit.catalogue.alerts import HOUR, MINUTE, Supply, alerts
from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.metric_rows import link
from netkit_dashboards.cases.alerts import labels_of
from netkit_dashboards.cases.promtool import judge
from netkit_dashboards.rule_file import Rendering, groups
from netkit_dashboards.shelf import panel_ids

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
STEP = 30
RESETS = 100


def written(folder: Path, inputs: list[dict[str, str]], asked: list[dict[str, Any]], step: int = STEP) -> Path:
    """A test over all rules at once, annotations left out."""
    listed = groups(Rendering(profile=Profile.DCQCN_PFC, panel_ids=panel_ids()))
    for one in listed:
        one["rules"] = [{**rule, "annotations": {}} if "alert" in rule else rule for rule in one["rules"]]  # type: ignore[attr-defined]
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": listed}, sort_keys=False))
    group = {"name": "weather", "interval": f"{step}s", "input_series": inputs, "alert_rule_test": asked}
    test = {"rule_files": ["rules.yaml"], "evaluation_interval": f"{step}s", "tests": [group]}
    (folder / "test.yaml").write_text(yaml.safe_dump(test, sort_keys=False))
    return folder / "test.yaml"


def with_resets(rate: float, seed: int, intervals: int) -> str:
    """A counter that grows evenly and starts again at random moments, as drivers do when they are loaded again."""
    draw = random.Random(seed)
    cuts = sorted(draw.sample(range(1, intervals), RESETS))
    lengths = [after - before for before, after in zip([0, *cuts], [*cuts, intervals], strict=True)]
    each = f"{rate * STEP:.9f}"
    return " ".join(f"0+{each}x{length - 1}" for length in lengths)


def steady() -> dict[str, tuple[bool, float]]:
    """Every series any alert reads that is there when all is well: whether it grows, and its quiet value."""
    found: dict[str, tuple[bool, float]] = {}
    for supply in (one for alert in alerts() for one in alert.trial if not math.isnan(one.quiet)):
        labels = ",".join(f'{name}="{value}"' for name, value in labels_of(supply).items())
        key = f"{supply.series.name}{{{labels}}}"
        if supply.grows or key not in found:
            found[key] = (supply.grows, min(supply.quiet, found.get(key, (True, math.inf))[1]))
    return found


@pytest.mark.fault("L05")
def test_a_hundred_resets_of_every_counter_fire_nothing(tmp_path: Path) -> None:
    """Resets, at random moments of three hours, of every counter any alert reads: no alert but the watchdog."""
    intervals = 3 * HOUR // STEP
    inputs = []
    for seed, (series, (grows, quiet)) in enumerate(steady().items()):
        # A busy port, at half the rate of the most careful alert: increase() extrapolates over resets.
        values = with_resets(quiet / 2, seed, intervals) if grows else f"{quiet:.9f}x{intervals}"
        inputs.append({"series": series, "values": values})
    times = range(20 * MINUTE, 3 * HOUR, 20 * MINUTE)
    silent = [one.name for one in alerts() if not one.always]
    asked = [{"eval_time": f"{at}s", "alertname": name, "exp_alerts": []} for at in times for name in silent]

    assert judge([written(tmp_path, inputs, asked)]) == {}


@pytest.mark.fault("L06")
def test_a_link_that_flapped_is_forgiven_after_the_window(tmp_path: Path) -> None:
    """Two flaps page; six hours after the last one and thirty minutes of keeping, the page is gone, and not before."""
    step = 2 * MINUTE
    still, flapped = HOUR // step, 10 * HOUR // step
    labels = labels_of(Supply(series=link.DOWNS, quiet=0, firing=0))
    inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
    values = f"0x{still - 1} 1x{5 - 1} 2x{flapped}"
    second = (still + 5) * step
    identity = ("cluster", "node", "rail", "device", "netdev")
    fixed = {"severity": "critical", "component": "link", "fabric_profile": "dcqcn+pfc"}
    firing = [{"exp_labels": {**{name: labels[name] for name in identity}, **fixed}}]
    name = "RdmaLinkFlapping"
    asked: list[dict[str, Any]] = [
        {"eval_time": f"{second - step}s", "alertname": name, "exp_alerts": []},
        {"eval_time": f"{second + step}s", "alertname": name, "exp_alerts": firing},
        {"eval_time": f"{second + 6 * HOUR}s", "alertname": name, "exp_alerts": firing},
        {"eval_time": f"{second + 6 * HOUR + 45 * MINUTE}s", "alertname": name, "exp_alerts": []},
    ]
    series = f"{link.DOWNS.name}{{{inside}}}"

    assert judge([written(tmp_path, [{"series": series, "values": values}], asked, step)]) == {}
