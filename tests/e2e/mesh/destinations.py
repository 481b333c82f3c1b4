"""What is behind an exit: servers of this process, and what programs say to them."""

import contextlib
import shutil
import socket
import socketserver
import ssl
import struct
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rookery.mesh.proxy.socks import SocksCommand
from tests.patience import PATIENCE_S

CURL = shutil.which("curl")
LOCAL = ("127.0.0.1", 0)
PAGE = b"rooks\n" * 50_000
ZONE = {b"rook.example": b"\xc0\x00\x02\x2a"}  # 192.0.2.42


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


class Echoes(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(4096):
            self.request.sendall(data)


class Letters(socketserver.BaseRequestHandler):
    """Answers a letter when it has ended, in capitals; one that says so is torn up."""

    def handle(self) -> None:
        letter = b""
        while data := self.request.recv(4096):
            letter += data
            if letter == b"tear this up":
                reset = struct.pack("ii", 1, 0)
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                self.request.close()
                return
        self.request.sendall(letter.upper())


class DatagramEchoes(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        data, sock = self.request
        sock.sendto(data, self.client_address)


class Names(socketserver.BaseRequestHandler):
    """A name server for IPv4 addresses, as RFC 1035 has it."""

    def handle(self) -> None:
        query, sock = self.request
        question = query[12:]
        address = ZONE.get(_question_name(question))
        flags = b"\x84\x00" if address else b"\x84\x03"
        head = query[:2] + flags + b"\0\1" + (b"\0\1" if address else b"\0\0") + bytes(4)
        answer = b"\xc0\x0c\0\1\0\1" + bytes(4) + b"\0\4" + address if address else b""
        sock.sendto(head + question + answer, self.client_address)


class QuietServer(socketserver.ThreadingTCPServer):
    """Its clients may leave in the middle of it."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


def serving(stack: contextlib.ExitStack, server: socketserver.BaseServer) -> int:
    """Have it serve until the stack is left; its port."""
    stack.enter_context(server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    stack.callback(thread.join)
    stack.callback(server.shutdown)
    assert isinstance(server.server_address, tuple)
    return int(server.server_address[1])


class SecurePages(ThreadingHTTPServer):
    """Pages over HTTPS; who does not finish the handshake holds up nobody else."""

    def __init__(self, certificate: Path, key: Path) -> None:
        super().__init__(LOCAL, Pages)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def handle_error(self, *_: object) -> None:
        """A client that does not trust us leaves with an alert."""


def query(number: int, name: bytes) -> bytes:
    """A question for the address of a name."""
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b"."))
    return number.to_bytes(2, "big") + b"\1\0\0\1" + bytes(6) + labels + b"\0\0\1\0\1"


def _question_name(question: bytes) -> bytes:
    labels = []
    while size := question[0]:
        labels.append(question[1 : 1 + size])
        question = question[1 + size :]
    return b".".join(labels)


def curl(*arguments: str) -> "subprocess.CompletedProcess[bytes]":
    if CURL is None:
        pytest.skip("needs curl")
    command = [CURL, "-sS", "--noproxy", "", "--max-time", "20", *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE_S)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 20)


def received(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := sock.recv(size - len(data))):
        data += more
    return data


def refuses(port: int) -> bool:
    try:
        connected(port).close()
    except ConnectionRefusedError:
        return True
    return False


def associated(port: int) -> tuple[socket.socket, socket.socket]:
    """A SOCKS session for datagrams, and the socket to send them by."""
    session = connected(port)
    session.sendall(b"\5\1\0" + bytes([5, SocksCommand.UDP_ASSOCIATE, 0, 1, 0, 0, 0, 0, 0, 0]))
    answer = received(session, 12)
    assert answer[:6] == b"\5\0\5\0\0\1"
    relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    relay.settimeout(PATIENCE_S)
    relay.connect((socket.inet_ntoa(answer[6:10]), int.from_bytes(answer[10:], "big")))
    return session, relay
