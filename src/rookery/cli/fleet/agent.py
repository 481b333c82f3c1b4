"""`rookery agent`: a device's agent, until stopped. First prints its hashname and MAC."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.agent.agent import Agent, AgentSettings
from rookery.agent.mac import own_mac
from rookery.agent.methods.config import INTERVAL_S_MAX, INTERVAL_S_MIN, AgentConfig
from rookery.agent.methods.exec import ExecAllowList
from rookery.cli.fleet.keys import fleet_identity, parse_mac_argument
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_service
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output, data_folder
from rookery.cli.terminal.screen import print_json, remark
from rookery.errors import UsageError
from rookery.fleet.enrolment.secrets import code_key
from rookery.fleet.reports.report_sender import (
    HelloRefused,
    SecretRenewed,
    SenderCalled,
    SenderEnrolled,
    SenderEvent,
    SenderRestarted,
)
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.wire.fleet.mac import mac_text

MEMORY = "memory"
CODE_ENVIRONMENT = "ROOKERY_CODE"

_CODE_SIZE_MAX = 64


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AgentDeviceOptions:
    """Identity of the device, and what it reads of the machine."""

    identity: Annotated[
        Path | None,
        Parameter(
            name="--id",
            help="Folder with the agent's keys and settings, made if need be; else agent in the "
            "user's data folder.",
        ),
    ] = None
    mac: Annotated[
        str | None, Parameter(name="--mac", help="Its MAC; else that of its first real interface.")
    ] = None
    node: Annotated[
        Path | None,
        Parameter(name="--node", help="The --id folder of a node beside it, to report its links."),
    ] = None
    disk: Annotated[str, Parameter(name="--disk", help="Any path on the disk to report on.")] = "/"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReportingOptions:
    """Where, how often and as what it reports."""

    interval_s: Annotated[
        float, Parameter(name="--interval", help="Seconds between two reports.")
    ] = AgentConfig().interval_s
    keep: Annotated[
        str | None,
        Parameter(
            name="--keep",
            help=f"DIR for reports that the hub does not have yet, or {MEMORY}; else the --id "
            "folder.",
        ),
    ] = None
    claim_file: Annotated[
        Path | None,
        Parameter(
            name="--claim-file",
            help=f"File with the code to enrol with, where the hub wants one; else "
            f"{CODE_ENVIRONMENT}.",
        ),
    ] = None


DEVICE_OPTIONS = AgentDeviceOptions()
REPORTING_OPTIONS = ReportingOptions()


def agent(
    *,
    hub: Annotated[str, Parameter(name="--hub", help="LINK of the hub, or a file holding it.")],
    device: AgentDeviceOptions = DEVICE_OPTIONS,
    reporting: ReportingOptions = REPORTING_OPTIONS,
    allow_exec: Annotated[
        Path | None,
        Parameter(
            name="--allow-exec",
            help="File with the commands that may be run from afar; else none may.",
        ),
    ] = None,
    output: Output = OUTPUT,
) -> int:
    folder = device.identity or data_folder() / "agent"
    settings = AgentSettings(
        hub=HubAddress(parse_target(hub)),
        mac=own_mac() if device.mac is None else parse_mac_argument(device.mac),
        config=AgentConfig(interval_s=_checked_interval(reporting.interval_s)),
        code=_code(reporting.claim_file),
        allowed=None if allow_exec is None else ExecAllowList.load(allow_exec),
        identity=fleet_identity(folder),
        config_folder=folder,
        keep=_keep_folder(reporting.keep, folder),
        node=device.node,
        disk=device.disk,
    )

    async def work() -> int:
        async with await Agent.start(settings, _ReportPrinter(output)) as running:
            own = {"hashname": settings.identity.hashname, "mac": mac_text(settings.mac)}
            print_json({**own, "hub": settings.hub.hashname})
            await running.wait()
        return OK

    return run_service(work())


class _ReportPrinter:
    """Prints events of the reports; a claim code only when it is new."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._said = ""
        self._called: int | None = None

    def __call__(self, event: SenderEvent) -> None:
        match event:
            case SenderEnrolled(claim_code) | SecretRenewed(claim_code):
                if claim_code != self._said:
                    self._said = claim_code
                    self._say("enrolled", f"claim code {claim_code}", claim_code=claim_code)
            case HelloRefused("denied"):
                self._say(
                    "refused", f"the hub wants a code; set {CODE_ENVIRONMENT} or --claim-file"
                )
            case HelloRefused():
                self._say("refused", "the hub is busy; it is asked again")
            case SenderRestarted():
                self._say("restarted", "the hub knew a later start of this device; went past it")
            case SenderCalled(wish) if wish != self._called:  # the hub repeats it until we come
                self._called = wish
                self._say("called", "a client asked for this device", wish=f"{wish:016x}")

    def _say(self, event: str, text: str, **more: str) -> None:
        if self._output.json:
            print_json({"event": event, **more})
        else:
            remark(text)


def _checked_interval(seconds: float) -> float:
    if not INTERVAL_S_MIN <= seconds <= INTERVAL_S_MAX:
        raise UsageError(f"--interval is from {INTERVAL_S_MIN:g} to {INTERVAL_S_MAX:g} seconds")
    return seconds


def _keep_folder(text: str | None, folder: Path) -> Path | None:
    if text == MEMORY:
        return None
    return folder if text is None else Path(text)


def _code(file: Path | None) -> str | None:
    if file is None:
        code = os.environ.get(CODE_ENVIRONMENT)
    else:
        try:
            with file.open(encoding="utf-8") as stream:
                code = stream.readline(_CODE_SIZE_MAX).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the code in {file}: {error}") from error
    if code:
        code_key(code)  # which says what is wrong with it
    return code or None
