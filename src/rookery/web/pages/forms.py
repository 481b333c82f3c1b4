"""Fields of a form, from its body or, as the seed's routes have it, from the query."""

from collections.abc import Mapping

import msgspec
from litestar.datastructures import FormMultiDict

from rookery.errors import UsageError
from rookery.web.http.request import AnyRequest

_LENGTH_MAX = 4096
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class FormFields(msgspec.Struct, frozen=True):
    """Text by name; the body goes before the query."""

    body: Mapping[str, object]
    query: Mapping[str, object]

    def text(self, name: str) -> str:
        """UsageError when there is none."""
        value = self.optional(name)
        if not value:
            raise UsageError(f"the field {name} is missing")
        return value

    def optional(self, name: str) -> str:
        value = self.body.get(name) or self.query.get(name) or ""
        if not isinstance(value, str) or len(value) > _LENGTH_MAX:
            raise UsageError(f"the field {name} is no text, or too long")
        return value


async def form_fields(request: AnyRequest) -> FormFields:
    """What was sent; any other kind of body counts as none."""
    kind = request.content_type[0]
    form = await request.form() if kind in _FORMS else FormMultiDict([])
    return FormFields(dict(form), dict(request.query_params))
