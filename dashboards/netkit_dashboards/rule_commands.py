"""`netkit rules …`: build, check and try recording and alerting rules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from netkit.catalogue.fabric_profiles import Profile
from netkit.errors import InputError
from netkit_dashboards.dashboard_commands import FolderOption
from netkit_dashboards.extra import demand
from netkit_dashboards.forms import RuleFormat

app = typer.Typer(
    name="rules",
    help="Prometheus rules on what netkit measures: build, check, try.",
    short_help="Prometheus rules: build, check, try.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
ProfileOption = Annotated[
    Profile, typer.Option("--profile", help="How the fabric controls congestion: it decides what is abnormal.")
]
_SCALES = (0.001, 1.0)


@app.command(short_help="Write the rules for Prometheus or its operator.")
def build(
    folder: FolderOption,
    profile: ProfileOption = Profile.DCQCN_PFC,
    form: Annotated[RuleFormat, typer.Option("--format", help="What to write.")] = RuleFormat.RULES,
    time_scale: Annotated[
        float,
        typer.Option("--time-scale", help="Factor on `for`, `keep_firing_for` and windows, for drills: 0.001 to 1."),
    ] = 1.0,
    grafana_url: Annotated[
        str, typer.Option("--grafana-url", help="Where the dashboards are; without it links are placeholders.")
    ] = "",
    playbook_url: Annotated[
        str, typer.Option("--playbook-url", help="Where the playbooks are; without it links are placeholders.")
    ] = "",
) -> None:
    """Write recording and alerting rules with the thresholds of one fabric.

    Example: netkit rules build -o out --profile pfc-only --grafana-url https://grafana.example.org
    """
    demand()
    from netkit_dashboards.folder import write
    from netkit_dashboards.rule_delivery import rule_files
    from netkit_dashboards.rule_file import Places, Rendering
    from netkit_dashboards.shelf import panel_ids

    if not _SCALES[0] <= time_scale <= _SCALES[1]:
        raise InputError(f"--time-scale {time_scale:g}", "a factor from 0.001 to 1")
    given = {"grafana": _base("--grafana-url", grafana_url), "playbooks": _base("--playbook-url", playbook_url)}
    places = Places(**{key: value for key, value in given.items() if value})
    rendering = Rendering(profile=profile, time_scale=time_scale, places=places, panel_ids=panel_ids())
    for path in write(folder, rule_files(form, rendering)):
        print(path)
    if form in (RuleFormat.RULES, RuleFormat.PROMETHEUS_RULE) and places.placeholders:
        print(f"netkit: {places.placeholders}", file=sys.stderr)


def _base(option: str, url: str) -> str:
    if url and not url.startswith(("https://", "http://")):
        raise InputError(f"{option} {url}", "an address that begins with https:// or http://")
    return url.rstrip("/")


@app.command(short_help="Check every rule on every fabric; ends with 1 on findings.")
def lint() -> None:
    """Check rules: expressions, names and labels, windows, annotations.

    Example: netkit rules lint
    """
    demand()
    from netkit_dashboards.lint.finding import report
    from netkit_dashboards.lint.rules import findings

    raise typer.Exit(int(report(findings())))


@app.command("test", short_help="Does every alert fire, stay silent, resolve?")
def try_alerts(
    profile: Annotated[
        Profile | None, typer.Option("--profile", help="Fabric to render the rules for; default: dcqcn+pfc.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", help="Try this rule file or PrometheusRule instead.", dir_okay=False)
    ] = None,
) -> None:
    """Try every alert with promtool: it fires, is silent just below, resolves, bears absence and resets, names itself.

    A file must be built without --time-scale. Ends with 1 on findings. Example: netkit rules test --profile pfc-only
    """
    demand()
    from netkit_dashboards.cases import rule_set, trial
    from netkit_dashboards.cases.alerts import Case
    from netkit_dashboards.cases.promtool import program
    from netkit_dashboards.lint.finding import report
    from netkit_dashboards.rule_file import Rendering
    from netkit_dashboards.shelf import panel_ids

    if rules and profile:
        raise InputError("--rules with --profile", "one of them: a file names its fabric itself")
    if rules:
        tried = rule_set.read(rules)
    else:
        tried = rule_set.rendered(Rendering(profile=profile or Profile.DCQCN_PFC, panel_ids=panel_ids()))
    program()
    count = len(trial.alerts_of(tried.profile))
    print(f"trying {count} alerts on {tried.profile}, {len(Case)} cases each", file=sys.stderr)
    raise typer.Exit(int(report(trial.findings(tried))))
