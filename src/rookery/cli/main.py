"""The `rookery` program: finds the verb, and is the edge where errors become lines and codes.

Verbs are imported when they are called, so that `rookery --help` stays quick.
"""

import os
import sys
import traceback
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from rookery.cli.terminal.exit_codes import (
    BROKEN_PIPE,
    FAILED,
    INTERRUPTED,
    OK,
    USAGE,
    complain,
    exit_code,
)
from rookery.cli.verb import CliVerb, add_verbs
from rookery.errors import RookeryError

VERBS = (
    CliVerb(
        "id",
        "link.identity:app",
        "Make an endpoint's keys, or show their public half.",
        "",
    ),
    CliVerb(
        "hashname",
        "link.hashname:hashname",
        "Print the hashname that public keys make.",
        "rookery hashname 40=BASE32 3a=BASE32",
    ),
    CliVerb(
        "endpoint",
        "link.endpoint:endpoint",
        "Serve links until stopped; the first line printed is the endpoint's JSON link.",
        "rookery endpoint --id bob --udp 127.0.0.1:0 --accept all --thtp site --echo > bob.link",
    ),
    CliVerb(
        "link",
        "link.link:link",
        "Link with an endpoint; print state, path, round-trip time and cipher set.",
        "rookery link bob.link",
    ),
    CliVerb(
        "thtp",
        "link.thtp:thtp",
        "Make an HTTP request over a link; the body goes to stdout.",
        "rookery thtp GET bob.link /hello.txt",
    ),
    CliVerb(
        "stream",
        "link.stream:stream",
        "Send stdin over a link, print what comes back.",
        "echo hello | rookery stream bob.link",
    ),
    CliVerb(
        "sock",
        "link.sock:sock",
        "Forward a local TCP port through the other end of a link, until stopped.",
        "rookery sock bob.link 8000:127.0.0.1:80",
    ),
    CliVerb(
        "chat",
        "link.chat:chat",
        "Chat line by line; without LINK, print our own link and wait to be invited.",
        "rookery chat bob.link --name alice",
    ),
    CliVerb(
        "box",
        "link.box:app",
        "Leave messages for an endpoint that is away; list, get and delete one's own.",
        "",
    ),
    CliVerb(
        "discover",
        "link.discover:discover",
        "List who announces itself nearby, as it is heard.",
        "rookery discover --announce 60",
    ),
    CliVerb(
        "node",
        "mesh.node:node",
        "Be a member of a realm until stopped; the first line printed is the node's JSON link.",
        "rookery node --id alice --realm home --listen 127.0.0.1:7001 > alice.link",
    ),
    CliVerb(
        "status",
        "mesh.status:status",
        "Say how the local node is; --check live|ready for supervisors.",
        "rookery status --id alice",
    ),
    CliVerb(
        "peers",
        "mesh.peers:peers",
        "List the local node's links with members, and what each is worth.",
        "rookery peers --id alice --paths",
    ),
    CliVerb(
        "routes",
        "mesh.routes:routes",
        "List how each member is reached from here.",
        "rookery routes --id alice",
    ),
    CliVerb(
        "ping",
        "mesh.ping:ping",
        "Ping a member until a direct path is in use.",
        "rookery ping bob --id alice",
    ),
    CliVerb(
        "trace",
        "mesh.trace:trace",
        "Show every node of the route to a member, with round-trip times.",
        "rookery trace carol --id alice",
    ),
    CliVerb(
        "explain",
        "mesh.explain:explain",
        "Say why packets to a member take the route they take.",
        "rookery explain carol --id alice",
    ),
    CliVerb(
        "graph",
        "mesh.graph:graph",
        "List every member and every link of the mesh, as the local node knows them.",
        "rookery graph --id alice",
    ),
    CliVerb(
        "netcheck",
        "mesh.netcheck:netcheck",
        "Say what works from here, and what to do about what does not.",
        "rookery netcheck --id alice",
    ),
    CliVerb(
        "top",
        "mesh.top:top",
        "Watch the local node's peers, routes and counters live.",
        "rookery top --id alice --sort rtt",
    ),
    CliVerb(
        "socks",
        "mesh.socks:socks",
        "Let programs out at another node, by SOCKS5 and HTTP CONNECT, until stopped.",
        "rookery socks --exit bob --id alice",
    ),
    CliVerb(
        "forward",
        "mesh.forward:forward",
        "Forward a local port to a place that another node reaches, or back, until stopped.",
        "rookery forward 8000:127.0.0.1:80@bob --id alice",
    ),
    CliVerb(
        "cp",
        "mesh.cp:cp",
        "Copy a file to a folder of another node or from there; again to go on where it broke off.",
        "rookery cp report.pdf bob:inbox/report.pdf --id alice",
    ),
    CliVerb(
        "bench",
        "mesh.bench:bench",
        "Measure throughput and latency to a member, and which paths carried the data.",
        "rookery bench bob --id alice",
    ),
    CliVerb(
        "queue",
        "mesh.queue:app",
        "List, show, add and cancel requests that wait in the local node's outbox.",
        "",
    ),
    CliVerb(
        "crow",
        "crow.app:app",
        "Send source-routed packets between towers; publish, subscribe, request, serve.",
        "",
    ),
    CliVerb(
        "realm",
        "realm.app:app",
        "Found a realm of endpoints that trust each other; invite, join, list and revoke members.",
        "",
    ),
    CliVerb(
        "hub",
        "fleet.hub:hub",
        "Register a fleet's devices and sign their owners in, until stopped; prints the JSON link.",
        "rookery hub --data hub --udp 127.0.0.1:7420 --tcp 127.0.0.1:7420 > hub.link",
    ),
    CliVerb(
        "server",
        "fleet.server:server",
        "Connect clients with their devices, until stopped; the first line says where.",
        "rookery server --hub hub.link --id server --code-file server.code",
    ),
    CliVerb(
        "agent",
        "fleet.agent:agent",
        "Report a device to a hub and do what its owner asks, until stopped.",
        "rookery agent --hub hub.link --mac 02:fc:00:00:00:01",
    ),
    CliVerb(
        "login",
        "fleet.login:login",
        "Sign in to a hub; a token is kept for devices, connect and rpc.",
        "rookery login https://hub.example.org --login ann",
    ),
    CliVerb(
        "devices",
        "fleet.devices:app",
        "List your devices at the hub; add a new one, claim one that reports.",
        "",
    ),
    CliVerb(
        "connect",
        "fleet.connect:connect",
        "Connect to a device, step by step, then call its methods, one a line.",
        "rookery connect 02:fc:00:00:00:01",
    ),
    CliVerb(
        "rpc",
        "fleet.rpc:rpc",
        "Call one method of a device; the result goes to stdout as JSON.",
        """rookery rpc 02:fc:00:00:00:01 net.ping '{"host": "192.0.2.1"}'""",
    ),
    CliVerb(
        "fleet",
        "fleet.app:app",
        "Work on a whole fleet: simulate one with real packets; accounts and codes of a hub.",
        "",
    ),
    CliVerb(
        "lake",
        "lake.app:app",
        "Keep what was observed, learn from it, and ask it anything: land, run, query, check.",
        "",
    ),
    CliVerb(
        "demo",
        "demo.app:app",
        "Bring up a small world on this machine: hub, mesh, devices, sensors, lake, and a tour.",
        "",
    ),
)

EXIT_CODES = (
    "LINK is a link:// URI, a JSON link, a file holding one, a hashname, or - for stdin.\n\n"
    "Exit codes: 0 ok, 1 a check failed, 2 wrong usage, 3 not reachable or not delivered, "
    "4 denied, 5 stale. Example: rookery id new bob"
)


def build() -> App:
    app = App(
        name="rookery",
        help="Encrypted links between endpoints, and what runs over them.",
        help_epilogue=EXIT_CODES,
        version=_version,
        help_on_error=False,
    )
    add_verbs(app, VERBS)
    return app


def run() -> None:
    """The installed program."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Carry out one command line; its exit code."""
    is_debugging = "--debug" in arguments
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output has gone; the interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except CycloptsError as error:
        complain(f"{error}; see: rookery {_verb_of(arguments)}--help".replace(".;", ";"))
        return USAGE
    except RookeryError as error:
        if is_debugging:
            traceback.print_exc()
        complain(error)
        return exit_code(error)
    except Exception as error:  # the outermost edge
        if is_debugging:
            traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        complain(f"unexpected {what}; --debug shows where, and that trace is worth a report")
        return FAILED


def _dispatch(arguments: Sequence[str]) -> int:
    result = build()(
        arguments,
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )
    return result if isinstance(result, int) else OK


def _verb_of(arguments: Sequence[str]) -> str:
    known = {verb.name for verb in VERBS}
    return f"{arguments[0]} " if arguments and arguments[0] in known else ""


def _version() -> str:
    from rookery.runtime.version import build, installed_version

    return f"rookery {installed_version()} ({build()})"
