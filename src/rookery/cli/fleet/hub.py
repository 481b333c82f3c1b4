"""`rookery hub`: the registry and matchmaker of a fleet, until stopped.

The first line of output is the hub's JSON link, with which agents, servers and clients find it.
"""

import math
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rookery.cli import extras
from rookery.cli.fleet.alert_options import ALERT_OPTIONS, AlertOptions
from rookery.cli.fleet.hub_options import (
    ENROLMENT_OPTIONS,
    FORECAST_OPTIONS,
    LISTEN_OPTIONS,
    STORE_OPTIONS,
    WEB_OPTIONS,
    EnrolmentOptions,
    HubForecastOptions,
    HubListenOptions,
    HubStoreOptions,
    HubWebOptions,
)
from rookery.cli.fleet.tls_options import check_tls, refuse_plain_http
from rookery.cli.runner import run_service, until_stopped
from rookery.cli.terminal.exit_codes import BIND_ADVICE, OK, advice
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_link, remark
from rookery.errors import UsageError
from rookery.identity.hashname import is_hashname
from rookery.runtime.control.server import FILE_NAME
from rookery.runtime.net.address import parse_address

if TYPE_CHECKING:
    from rookery.hub.settings import HubSettings
    from rookery.web.settings import WebSettings


def hub(
    *,
    listening: HubListenOptions = LISTEN_OPTIONS,
    stores: HubStoreOptions = STORE_OPTIONS,
    rules: EnrolmentOptions = ENROLMENT_OPTIONS,
    expecting: HubForecastOptions = FORECAST_OPTIONS,
    web: HubWebOptions = WEB_OPTIONS,
    alarming: AlertOptions = ALERT_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    extras.need("a hub", extras.HUB, "hub")
    http = None if listening.http == "none" else parse_address(listening.http)
    if http is None and (alarming.webhooks or alarming.mail):
        raise UsageError("alerts are looked for by the HTTP side; leave out --http none")
    check_tls(web.tls, web.tls_cert, web.tls_key)
    settings = _hub_settings(listening, stores, rules, expecting, web)
    web_settings = _web_settings(web, alarming)
    if http is not None and not web_settings.is_tls and not web.insecure_http:
        refuse_plain_http(http[0], "passwords and tokens")

    async def work() -> int:
        from rookery.hub.hub import Hub

        async with AsyncExitStack() as stack:
            with advice(BIND_ADVICE):
                running = await stack.enter_async_context(await Hub.start(settings))
                if http is not None:
                    from rookery.web.serve import serve

                    url = await stack.enter_async_context(serve(running, *http, web_settings))
                    running.advertise_http(web.public_url or url)
            print_link(running.link, is_versioned=output.json)
            if running.authority is not None:
                remark(f"certificate authority {running.authority.fingerprint}")
            await until_stopped()
        return OK

    return run_service(work())


def _hub_settings(
    listening: HubListenOptions,
    stores: HubStoreOptions,
    rules: EnrolmentOptions,
    expecting: HubForecastOptions,
    web: HubWebOptions,
) -> "HubSettings":
    from rookery.fleet.rendezvous.rendezvous import RendezvousLimits
    from rookery.hub.settings import HubSettings

    within_s = rules.device_within_s
    for option, value in (
        ("--renewal", rules.renewal_s),
        ("--silent-after", rules.silent_after_s),
        ("--router-within", within_s),
    ):
        if value <= 0:
            raise UsageError(f"{option} {value:g}: give a number of seconds above 0")
    if not 0 <= rules.unclaimed_days < math.inf:
        raise UsageError(f"--unclaimed-days {rules.unclaimed_days:g}: give a number of days, or 0")
    for name in expecting.forecasters:
        if not is_hashname(name):
            raise UsageError(f"--forecaster {name}: give the hashname of 52 characters")
    if expecting.forecast is not None and not (expecting.forecasters or expecting.no_forecast):
        raise UsageError("--forecast needs a --forecaster HASHNAME, whose signature is believed")
    return HubSettings(
        data=stores.data,
        udp=listening.udp,
        tcp=listening.tcp,
        database=stores.database,
        hot=stores.hot,
        advertise=listening.advertise,
        policy=rules.policy,
        renewal_s=rules.renewal_s,
        is_authority=web.tls is not None,
        is_legacy_plain=rules.legacy_plain,
        silent_after_s=rules.silent_after_s,
        unclaimed_s=rules.unclaimed_days * 86_400,
        rendezvous=RendezvousLimits(report_s=within_s, connect_s=within_s, return_s=within_s),
        forecast=expecting.forecast,
        forecasters=expecting.forecasters,
        is_forecast_followed=not expecting.no_forecast,
    )


def _web_settings(web: HubWebOptions, alarming: AlertOptions) -> "WebSettings":
    from rookery.web.http.tls import checked_names
    from rookery.web.settings import WebSettings

    return WebSettings(
        public_url=web.public_url,
        trusted_proxies=web.trusted_proxies,
        tls_cert=web.tls_cert,
        tls_key=web.tls_key,
        is_tls_auto=web.tls is not None,
        tls_names=checked_names(web.tls_names),
        registration=web.registration,
        second_factor=web.second_factor,
        lake=web.lake,
        node=None if web.node is None else _control_socket(web.node),
        alerts=alarming.settings(),
    )


def _control_socket(node: Path) -> Path:
    """Of the node whose folder it is, unless it is the socket itself."""
    return node / FILE_NAME if node.is_dir() else node
