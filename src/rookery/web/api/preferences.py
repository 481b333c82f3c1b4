"""Language and theme of one's own pages."""

from typing import Literal

import msgspec
from litestar.params import JSONBody

from rookery.web.access import may
from rookery.web.api.route import get, put
from rookery.web.given import TheCaller, TheSite
from rookery.web.topic import Topic


class Preferences(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one wants the pages; null: as the browser says."""

    language: Literal["en", "ru"] | None = None
    theme: Literal["light", "dark"] | None = None


@get("/me/preferences", opt=may("user", "read"), tags=["account"], summary="Language and theme")
async def my_preferences(caller: TheCaller, site: TheSite) -> Preferences:
    account = await site.accounts.get(caller.account)
    if account is None:  # removed since this request came
        return Preferences()
    return msgspec.convert({"language": account.language, "theme": account.theme}, Preferences)


@put("/me/preferences", opt=may("user", "write"), tags=["account"], summary="Change them")
async def put_preferences(
    data: JSONBody[Preferences], caller: TheCaller, site: TheSite
) -> Preferences:
    """For the account, in every browser that it signs in with."""
    await site.accounts.prefer(caller.account, data.language, data.theme)
    return data


HANDLERS = (my_preferences, put_preferences)
TOPICS: tuple[Topic, ...] = ()
