"""Opaque identifiers for addresses and exports: they say nothing about order or number of rows."""

import secrets


def new_public_id() -> str:
    """16 URL-safe characters, some 96 random bits. The first is no hyphen, which a command would take for an option."""
    while (drawn := secrets.token_urlsafe(12))[0] in "-_":
        continue
    return drawn
