"""The command that asks the API for what a page shows, where no verb of the CLI does."""

from rookery.web.connection import AnyRequest

TOKEN = "ROOKERY_TOKEN"  # noqa: S105 - the name of an environment's variable


def api_command(request: AnyRequest, path: str) -> str:
    """`curl` with a token from the environment."""
    origin = str(request.base_url).rstrip("/")
    return f'curl -sS -H "Authorization: Bearer ${TOKEN}" {origin}{path}'
