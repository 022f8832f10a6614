"""What a backup says of the server's environment: the variables that are set, and the values of those that are no secret."""

import hashlib
import hmac
import os
import re

from django.conf import settings

OURS = re.compile(r"PLUMBLINE_\w+|(DATABASE|REDIS|CELERY_BROKER)_URL|SENTRY_DSN")
SECRET = re.compile(r"SECRET|PASSWORD|TOKEN|CREDENTIAL|PRIVATE|DSN|URL$|_KEY$")


def variables() -> dict[str, str | None]:
    """Return the variables that are set for Plumbline; None in place of what is a secret or may contain one."""
    found = sorted(name for name in os.environ if OURS.fullmatch(name))
    return {name: None if _is_secret(name, os.environ[name]) else os.environ[name] for name in found}


def _is_secret(name: str, value: str) -> bool:
    return bool(SECRET.search(name)) or ("://" in value and "@" in value)


def key_print() -> str:
    """Return a print of the secret key, from which a key of 40 random characters cannot be guessed."""
    return hmac.new(settings.SECRET_KEY.encode(), b"core.backup", hashlib.sha256).hexdigest()[:16]
