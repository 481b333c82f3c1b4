"""What handlers are given by name: `site: TheSite`, `caller: TheCaller`."""

from litestar.di import NamedDependency

from rookery.web.callers import Caller
from rookery.web.site import Site

TheSite = NamedDependency[Site]
TheCaller = NamedDependency[Caller]
