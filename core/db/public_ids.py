"""Opaque identifiers for URLs and exports, which reveal neither the order nor the number of rows."""

import secrets


def new_public_id() -> str:
    """Return 16 URL-safe characters with about 96 random bits.

    The first character is neither a hyphen, which a command would take for an option, nor an underscore.
    """
    while (drawn := secrets.token_urlsafe(12))[0] in "-_":
        continue
    return drawn
