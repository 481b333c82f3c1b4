"""The laboratory itself: what it does to packets is what the tests say it does."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.e2e.mesh.lab import Host, Lab, Weather, is_possible
from tests.patience import PATIENCE_S

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
trips = []
for _ in range(5):  # the best: a busy machine adds to the others
    begun = time.monotonic()
    socket.create_connection((sys.argv[1], 7000), 5).close()
    trips.append(time.monotonic() - begun)
print(min(trips))
"""


def python(host: Host, code: str, *words: str) -> "subprocess.Popen[str]":
    command = host.command(sys.executable, "-c", code, *words)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def output(process: "subprocess.Popen[str]") -> tuple[int, str]:
    out, _ = process.communicate(timeout=PATIENCE_S)
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
with socket.create_connection((sys.argv[1], 7000), 20) as stream:
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
stream = server.accept()[0]
while stream.recv(65536):
    pass
stream.close()
"""
SHOWER = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    for _ in range(100):
        sock.sendto(bytes(1000), (sys.argv[1], 7000))
"""
GATHER = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.bind(("0.0.0.0", 7000))
    print("ready", flush=True)
    count, timeout_s = 0, 10
    try:
        while True:
            sock.settimeout(timeout_s)
            sock.recv(2000)
            count, timeout_s = count + 1, 1
    except TimeoutError:
        print(count)
"""


def test_a_narrow_direction_lets_no_more_pass_than_its_rate() -> None:
    with Lab(2, mtu=4000) as lab:
        one, two = lab.hosts
        lab.from_to(two, one, Weather(rate=1_000_000))
        server = python(one, DRINK)
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            code, seconds = output(python(two, POUR, one.ip))
            assert code == 0
            assert 0.9 < float(seconds) < 15
        finally:
            server.kill()
            server.communicate()


def test_what_would_wait_too_long_before_a_narrow_direction_is_dropped() -> None:
    with Lab(2) as lab:
        one, two = lab.hosts
        lab.from_to(two, one, Weather(rate=100_000, queue_s=0.05))
        receiver = python(one, GATHER)
        try:
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == "ready\n"
            assert output(python(two, SHOWER, one.ip))[0] == 0
            assert 2 <= int(receiver.stdout.readline()) < 60  # 6, where nothing else is going on
        finally:
            receiver.kill()
            receiver.communicate()
