"""One end of a transfer between two Reticulums; runs where `RNS` is installed and nothing of ours.

serve FOLDER              print the name to send to, and take whatever comes
send FOLDER NAME FILE     print how many seconds the file took
"""

import sys
import threading
import time

import RNS  # type: ignore[import-not-found]

PATIENCE_S = 60.0
_ANNOUNCE_S = 0.5


def serve(folder: str) -> None:
    RNS.Reticulum(folder)
    here = RNS.Destination(
        RNS.Identity(), RNS.Destination.IN, RNS.Destination.SINGLE, "rookery", "bench"
    )
    here.set_link_established_callback(_accept)
    print(here.hash.hex(), flush=True)
    while True:
        here.announce()
        time.sleep(_ANNOUNCE_S)


def _accept(link: "RNS.Link") -> None:
    link.set_resource_strategy(RNS.Link.ACCEPT_ALL)


def send(folder: str, name: str, file: str) -> None:
    RNS.Reticulum(folder)
    to, deadline = bytes.fromhex(name), time.monotonic() + PATIENCE_S
    while not RNS.Transport.has_path(to):
        if time.monotonic() > deadline:
            sys.exit("nobody announces it")
        time.sleep(0.05)
    there = RNS.Destination(
        RNS.Identity.recall(to), RNS.Destination.OUT, RNS.Destination.SINGLE, "rookery", "bench"
    )
    linked, sent = threading.Event(), threading.Event()
    link = RNS.Link(there, established_callback=lambda _: linked.set())
    if not linked.wait(PATIENCE_S):
        sys.exit("no link")
    with open(file, "rb") as data:
        began = time.perf_counter()
        resource = RNS.Resource(data, link, callback=lambda _: sent.set(), auto_compress=False)
        if not sent.wait(PATIENCE_S) or resource.status != RNS.Resource.COMPLETE:
            sys.exit("the resource did not arrive")
        print(time.perf_counter() - began, flush=True)
    link.teardown()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        send(*sys.argv[2:])
