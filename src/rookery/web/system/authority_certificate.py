"""The certificate of the hub's authority, for browsers and `rookery login` to trust.

It is public, and is fetched over a connection that is not trusted yet: trust comes from a person
who compares its fingerprint.
"""

from litestar import Response, get

from rookery.web.accounts.access import anyone
from rookery.web.http.dependencies import TheSite
from rookery.web.http.problems import RequestRefusedError

_PEM = "application/x-pem-file"


@get("/authority.pem", opt=anyone(), include_in_schema=False)
async def authority(site: TheSite) -> Response[bytes]:
    """As PEM; 404 if another authority signed the hub's certificate."""
    own = site.hub.authority
    if own is None or not site.settings.is_tls_auto:
        raise RequestRefusedError(
            404, "unknown", "this hub has no certificate authority of its own"
        )
    return Response(own.pem, media_type=_PEM)


HANDLERS = (authority,)
