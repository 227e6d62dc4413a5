"""What `dashboards/rendered` holds: every file that is generated from the boards and the catalogue, committed.

`python -m netkit_dashboards.rendered FOLDER` writes it; a test demands that the committed files are fresh.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from netkit.catalogue.fabric_profiles import Profile
from netkit_dashboards.delivery import files
from netkit_dashboards.folder import write
from netkit_dashboards.forms import BoardFormat, RuleFormat
from netkit_dashboards.rule_delivery import rule_files
from netkit_dashboards.rule_file import Rendering
from netkit_dashboards.shelf import panel_ids


def rendered() -> Mapping[str, str]:
    """Return every committed file by its path in the folder."""
    found = {f"grafana/{name}": text for name, text in files(BoardFormat.PROVISIONING).items()}
    for form in (BoardFormat.CONFIGMAP, BoardFormat.GRAFANA_DASHBOARD):
        found |= {f"kubernetes/{name}": text for name, text in files(form).items()}
    plain = Rendering(panel_ids=panel_ids())
    found |= {f"kubernetes/{name}": text for name, text in rule_files(RuleFormat.PROMETHEUS_RULE, plain).items()}
    for rules in (RuleFormat.ALERTMANAGER, RuleFormat.MAPPINGS):
        found |= {f"prometheus/{name}": text for name, text in rule_files(rules, plain).items()}
    for profile in Profile:
        rendering = Rendering(profile=profile, panel_ids=panel_ids())
        for text in rule_files(RuleFormat.RULES, rendering).values():
            found[f"prometheus/netkit-rules-{profile.replace('+', '-')}.yaml"] = text
    return found


if __name__ == "__main__":
    write(Path(sys.argv[1]), rendered())
