"""The laboratory itself: what it does to packets is what the tests say it does."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.e2e.mesh.lab import Host, Lab, Weather, is_possible

pytestmark = pytest.mark.skipif(not is_possible(), reason="needs root and /dev/net/tun")

CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 7000), 2).close()"
LISTEN = """
import socket
server = socket.create_server(("0.0.0.0", 7000))
print("ready", flush=True)
while True:
    server.accept()[0].close()
"""
ROUND_TRIP = """
import socket, sys, time
begun = time.monotonic()
socket.create_connection((sys.argv[1], 7000), 5).close()
print(time.monotonic() - begun)
"""


def python(host: Host, code: str, *words: str) -> "subprocess.Popen[str]":
    command = host.command(sys.executable, "-c", code, *words)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def output(process: "subprocess.Popen[str]") -> tuple[int, str]:
    out, _ = process.communicate(timeout=20)
    return process.returncode, out


def test_hosts_meet_over_the_relay_with_the_delay_it_was_told() -> None:
    assert shutil.which("ip")
    with Lab(3) as lab:
        one, two, three = lab.hosts
        lab.between(one, two, Weather(delay_s=0.05))
        server = python(one, LISTEN)
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            code, seconds = output(python(two, ROUND_TRIP, one.ip))
            assert code == 0
            assert 0.1 <= float(seconds) < 0.6
            code, seconds = output(python(three, ROUND_TRIP, one.ip))
            assert code == 0
            assert re.fullmatch(r"[\d.e-]+\n", seconds)
            assert float(seconds) < 0.1
            lab.from_to(one, three, Weather(blocked=True))
            assert output(python(three, CONNECT, one.ip))[0] != 0
            lab.everywhere(Weather())
            one.move("10.77.0.100")
            assert output(python(three, CONNECT, one.ip))[0] == 0
        finally:
            server.kill()
            server.communicate()


POUR = """
import socket, sys, time
with socket.create_connection((sys.argv[1], 7000), 5) as stream:
    begun = time.monotonic()
    stream.sendall(bytes(1_000_000))
    stream.shutdown(socket.SHUT_WR)
    stream.recv(1)
    print(time.monotonic() - begun)
"""
DRINK = """
import socket
server = socket.create_server(("0.0.0.0", 7000))
print("ready", flush=True)
while True:
    stream = server.accept()[0]
    while stream.recv(65536):
        pass
    stream.close()
"""


def test_a_narrow_direction_lets_no_more_pass_than_its_rate_and_drops_what_waits() -> None:
    with Lab(3, mtu=4000) as lab:
        one, two, three = lab.hosts
        lab.from_to(two, one, Weather(rate=1_000_000, queue_s=0.05))
        lab.from_to(three, one, Weather(rate=1_000_000, queue_s=0.0))
        server = python(one, DRINK)
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            code, seconds = output(python(two, POUR, one.ip))
            assert code == 0
            assert 0.95 < float(seconds) < 10
            code, slower = output(python(three, POUR, one.ip))
            assert code == 0
            assert float(slower) > float(seconds)
        finally:
            server.kill()
            server.communicate()
