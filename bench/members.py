"""Members of a realm that lasts as long as a measurement, each in a process of its own."""

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench.ends import UNLIMITED
from rookery.identity import signing
from rookery.identity.cipher_set import KeyPair
from rookery.identity.identity import Identity
from rookery.identity.realm import Authority, Realm
from rookery.link.link import ROOKERY_CSID
from rookery.mesh.membership.membership import Membership
from rookery.mesh.node import Node
from rookery.mesh.node_settings import NodeSettings
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.wire.link.lob import JsonObject

_LIFETIME_S = 3600


@dataclass(frozen=True, slots=True)
class Post:
    """What a process needs to be a member; it tells nobody where it could be dialled."""

    realm: Realm
    pair: KeyPair
    certificate: bytes
    carriers: tuple[str, ...]  # "tcp", and "udp" for what goes beside it

    @property
    def hashname(self) -> str:
        return Identity({ROOKERY_CSID: self.pair}).hashname


@dataclass(frozen=True, slots=True)
class Member:
    """A member at work."""

    endpoint: AsyncEndpoint
    node: Node


def posts(roles: Mapping[str, tuple[str, ...]], carriers: tuple[str, ...]) -> dict[str, Post]:
    """A new realm with these members, by name."""
    seed, now_s = os.urandom(32), int(time.time())
    realm = Realm("bench", signing.public(seed))
    authority = Authority(realm, seed)
    made = {}
    for serial, (name, its_roles) in enumerate(roles.items(), start=1):
        identity = Identity.generate([ROOKERY_CSID], os.urandom)
        certificate = authority.certify(
            identity.keys[ROOKERY_CSID],
            {},
            name=name,
            roles=its_roles,
            serial=serial,
            from_s=now_s - 60,
            until_s=now_s + _LIFETIME_S,
        )
        made[name] = Post(realm, identity.pairs[ROOKERY_CSID], certificate, carriers)
    return made


@asynccontextmanager
async def member(post: Post, *peers: JsonObject) -> AsyncIterator[Member]:
    """Be a member on loopback that dials these peers and nobody else."""
    identity = Identity({ROOKERY_CSID: post.pair})
    async with AsyncEndpoint(identity, limits=UNLIMITED) as endpoint:
        streams = TcpGate(endpoint)
        bound = await streams.listen()
        endpoint.add_gate(streams)
        if "udp" in post.carriers:
            endpoint.add_gate(await UdpGate.bind(endpoint, bound.ip, bound.port))
        node = Node(
            endpoint.core,
            Membership(post.realm, post.certificate),
            NodeSettings(peers=frozenset(str(peer["hashname"]) for peer in peers)),
            epoch=1,
            now=endpoint.now(),
            queue_size=streams.backlog,
        )
        endpoint.attach(node)
        for peer in peers:
            endpoint.link(peer)
        yield Member(endpoint, node)
