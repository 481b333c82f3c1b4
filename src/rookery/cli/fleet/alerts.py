"""`rookery fleet alerts`, `ack` and `mute`: the alerts of a fleet, for its operators."""

import time
from typing import Annotated

import msgspec
from cyclopts import Parameter

from rookery.cli.fleet.hub_access import SIGN_IN_OPTIONS, SignInOptions
from rookery.cli.runner import run_verb
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json, print_table, remark
from rookery.client.api import HubAlert, HubAlertHistory, HubApi

Number = Annotated[int, Parameter(name="ID", help="The number of an alert.")]


def alerts(
    number: Annotated[int | None, Parameter(name="ID", help="Of one, to see its story.")] = None,
    /,
    *,
    everything: Annotated[
        bool,
        Parameter(name="--all", negative="", show_default=False, help="Also those that are over."),
    ] = False,
    signed_in: SignInOptions = SIGN_IN_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    async def work(api: HubApi) -> int:
        if number is not None:
            _tell(await api.alert(number), output)
        else:
            _show(await api.alerts(is_all=everything), output)
        return OK

    return run_verb(work(signed_in.api()))


def ack(
    number: Number, /, *, signed_in: SignInOptions = SIGN_IN_OPTIONS, output: Output = OUTPUT
) -> int:
    async def work(api: HubApi) -> int:
        _show([await api.acknowledge(number)], output)
        return OK

    return run_verb(work(signed_in.api()))


def mute(
    number: Number,
    /,
    *,
    span: Annotated[str, Parameter(name="--for", help="How long: 45m, 8h, 1d; 0 to unmute.")],
    signed_in: SignInOptions = SIGN_IN_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    seconds = mute_seconds(span)

    async def work(api: HubApi) -> int:
        _show([await api.mute(number, seconds)], output)
        return OK

    return run_verb(work(signed_in.api()))


def mute_seconds(text: str) -> float:
    """`45m`, `8h`, `1d`, or a number of seconds; UsageError."""
    seconds = text.strip()
    is_bare = seconds.isascii() and seconds.isdecimal()
    return units.parse_span(f"{seconds}s" if is_bare else seconds)


def _show(found: list[HubAlert], output: Output) -> None:
    if output.json:
        for alert in found:
            print_json(msgspec.to_builtins(alert))
        return
    if not found:
        remark("nothing is the matter")
        return
    rows = [
        (
            str(alert.id),
            alert.severity,
            f"{_ago(alert.since)} ago",
            _state(alert),
            alert.title,
            alert.note or units.UNKNOWN,
        )
        for alert in found
    ]
    print_table(("ID", "severity", "since", "state", "what", "figures"), rows)


def _tell(story: HubAlertHistory, output: Output) -> None:
    if output.json:
        print_json(msgspec.to_builtins(story))
        return
    alert = story.alert
    fields = [
        ("what", alert.title),
        ("severity", alert.severity),
        ("kind", alert.kind),
        ("since", f"{_ago(alert.since)} ago"),
        ("state", _state(alert)),
        ("cause", alert.cause or units.UNKNOWN),
    ]
    print_fields([*fields, *(("about", each) for each in alert.entities)])
    print_table(
        ("when", "what", "who", "text"),
        [(f"{_ago(each.at)} ago", each.what, each.who, each.text) for each in story.events],
    )


def _state(alert: HubAlert) -> str:
    states = [] if alert.until is None else ["over"]
    if alert.acknowledged_by:
        states.append(f"seen by {alert.acknowledged_by}")
    if alert.muted_until is not None and alert.muted_until > time.time():
        states.append(f"muted for {units.span(alert.muted_until - time.time())}")
    return ", ".join(states) or "open"


def _ago(at: float) -> str:
    return units.span(max(time.time() - at, 0))
