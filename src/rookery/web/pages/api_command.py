"""The command that asks the API for what a page shows, where no verb of the CLI does."""

from rookery.web.connection import AnyRequest
from rookery.web.site import Site

TOKEN = "ROOKERY_TOKEN"  # noqa: S105 - the name of an environment's variable


def api_command(request: AnyRequest, site: Site, path: str) -> str:
    """`curl` with a token from the environment."""
    origin = (site.settings.public_url or str(request.base_url)).rstrip("/")
    return f'curl -sS -H "Authorization: Bearer ${TOKEN}" {origin}{path}'
