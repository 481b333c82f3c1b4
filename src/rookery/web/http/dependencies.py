"""Types of the injected parameters of handlers: `site: TheSite`, `caller: TheCaller`."""

from litestar.di import NamedDependency

from rookery.web.accounts.caller import Caller
from rookery.web.site import WebSite

TheSite = NamedDependency[WebSite]
TheCaller = NamedDependency[Caller]
