"""Routes of accounts: sign-in, factors, sessions, tokens, preferences, administration."""

from rookery.web.accounts import (
    accounts_page,
    administration,
    api,
    audit_page,
    page,
    preferences,
    sessions,
    sign_in_pages,
    tokens,
)
from rookery.web.accounts.factors import api as factors_api
from rookery.web.accounts.factors import page as factors_page
from rookery.web.http.routes import RoomRoutes

ACCOUNTS = RoomRoutes(
    api=(
        *api.HANDLERS,
        *factors_api.HANDLERS,
        *sessions.HANDLERS,
        *tokens.HANDLERS,
        *preferences.HANDLERS,
        *administration.HANDLERS,
    ),
    pages=(
        *sign_in_pages.HANDLERS,
        *page.HANDLERS,
        *factors_page.HANDLERS,
        *accounts_page.HANDLERS,
        *audit_page.HANDLERS,
    ),
)
