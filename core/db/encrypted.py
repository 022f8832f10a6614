"""Secrets that have to be read again, encrypted in the database with keys made of the server's secret keys."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """The text was encrypted with another secret key, or for another purpose."""


def encrypted(text: str, *, purpose: str) -> str:
    """Encrypt the text with the present secret key; what was encrypted for one purpose cannot be read for another."""
    return _cipher(purpose).encrypt(text.encode()).decode()


def decrypted(text: str, *, purpose: str) -> str:
    """Return the text, also if one of SECRET_KEY_FALLBACKS encrypted it. Raises Unreadable."""
    try:
        return _cipher(purpose).decrypt(text.encode()).decode()
    except InvalidToken as error:
        raise Unreadable from error


def _cipher(purpose: str) -> MultiFernet:
    keys = [str(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    digests = [hashlib.sha256(f"{purpose}:{key}".encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
