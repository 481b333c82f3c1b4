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
    listen_options: HubListenOptions = LISTEN_OPTIONS,
    store_options: HubStoreOptions = STORE_OPTIONS,
    enrolment_options: EnrolmentOptions = ENROLMENT_OPTIONS,
    forecast_options: HubForecastOptions = FORECAST_OPTIONS,
    web_options: HubWebOptions = WEB_OPTIONS,
    alert_options: AlertOptions = ALERT_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    extras.need("a hub", extras.HUB, "hub")
    http = None if listen_options.http == "none" else parse_address(listen_options.http)
    if http is None and (alert_options.webhooks or alert_options.mail):
        raise UsageError("alerts are looked for by the HTTP side; leave out --http none")
    check_tls(web_options.tls, web_options.tls_cert, web_options.tls_key)
    settings = _hub_settings(
        listen_options, store_options, enrolment_options, forecast_options, web_options
    )
    web_settings = _web_settings(web_options, alert_options)
    if http is not None and not web_settings.is_tls and not web_options.insecure_http:
        refuse_plain_http(http[0], "passwords and tokens")

    async def work() -> int:
        from rookery.hub.hub import Hub

        async with AsyncExitStack() as stack:
            with advice(BIND_ADVICE):
                running = await stack.enter_async_context(await Hub.start(settings))
                if http is not None:
                    from rookery.web.serve import serve

                    url = await stack.enter_async_context(serve(running, *http, web_settings))
                    running.advertise_http(web_options.public_url or url)
            print_link(running.link, is_versioned=output.json)
            if running.authority is not None:
                remark(f"certificate authority {running.authority.fingerprint}")
            await until_stopped()
        return OK

    return run_service(work())


def _hub_settings(
    listen_options: HubListenOptions,
    store_options: HubStoreOptions,
    enrolment_options: EnrolmentOptions,
    forecast_options: HubForecastOptions,
    web_options: HubWebOptions,
) -> "HubSettings":
    from rookery.fleet.rendezvous.rendezvous import RendezvousLimits
    from rookery.hub.settings import HubSettings

    within_s = enrolment_options.device_within_s
    for option, value in (
        ("--renewal", enrolment_options.renewal_s),
        ("--silent-after", enrolment_options.silent_after_s),
        ("--router-within", within_s),
    ):
        if value <= 0:
            raise UsageError(f"{option} {value:g}: give a number of seconds above 0")
    if not 0 <= enrolment_options.unclaimed_days < math.inf:
        raise UsageError(
            f"--unclaimed-days {enrolment_options.unclaimed_days:g}: give a number of days, or 0"
        )
    for name in forecast_options.forecasters:
        if not is_hashname(name):
            raise UsageError(f"--forecaster {name}: give the hashname of 52 characters")
    if forecast_options.forecast is not None and not (
        forecast_options.forecasters or forecast_options.no_forecast
    ):
        raise UsageError("--forecast needs a --forecaster HASHNAME, whose signature is believed")
    return HubSettings(
        data=store_options.data,
        udp=listen_options.udp,
        tcp=listen_options.tcp,
        database=store_options.database,
        hot=store_options.hot,
        advertise=listen_options.advertise,
        policy=enrolment_options.policy,
        renewal_s=enrolment_options.renewal_s,
        is_authority=web_options.tls is not None,
        is_legacy_plain=enrolment_options.legacy_plain,
        silent_after_s=enrolment_options.silent_after_s,
        unclaimed_s=enrolment_options.unclaimed_days * 86_400,
        rendezvous=RendezvousLimits(report_s=within_s, connect_s=within_s, return_s=within_s),
        forecast=forecast_options.forecast,
        forecasters=forecast_options.forecasters,
        is_forecast_followed=not forecast_options.no_forecast,
    )


def _web_settings(web_options: HubWebOptions, alert_options: AlertOptions) -> "WebSettings":
    from rookery.web.http.tls import checked_names
    from rookery.web.settings import WebSettings

    return WebSettings(
        public_url=web_options.public_url,
        trusted_proxies=web_options.trusted_proxies,
        tls_cert=web_options.tls_cert,
        tls_key=web_options.tls_key,
        is_tls_auto=web_options.tls is not None,
        tls_names=checked_names(web_options.tls_names),
        registration=web_options.registration,
        second_factor=web_options.second_factor,
        lake=web_options.lake,
        node=None if web_options.node is None else _control_socket(web_options.node),
        alerts=alert_options.settings(),
    )


def _control_socket(node: Path) -> Path:
    """Of the node whose folder it is, unless it is the socket itself."""
    return node / FILE_NAME if node.is_dir() else node
