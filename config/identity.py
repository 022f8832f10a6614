"""Settings of the optional ways to prove who one is: second factor, passkeys, OpenID Connect and e-mail.

All are off unless the environment turns them on; then django-allauth is installed, and otherwise it is not imported.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config import environment

PROVIDER = "openid"
"""The id of the one OpenID Connect provider in addresses and rows."""
MAIL_PORTS = {"smtp": 587, "smtps": 465, "smtp+plain": 25}


@dataclass(frozen=True)
class Identity:
    """What is turned on; false if nothing is."""

    second_factor: bool = False
    passkeys: bool = False
    required: bool = False
    """Whether owners, leads and administrators must have a second factor."""
    issuer: str = ""
    provider_name: str = ""
    client_id: str = ""
    client_secret: str = ""
    mail: str = ""
    mail_from: str = ""

    def __bool__(self) -> bool:
        return bool(self.second_factor or self.passkeys or self.issuer or self.mail)

    @property
    def factors(self) -> bool:
        """Whether somebody can have a second factor, of whatever kind."""
        return self.second_factor or self.passkeys


def read(*, local: bool) -> Identity:
    """Return what the environment turns on. Raises ImproperlyConfigured for a setting that lacks its other half."""
    identity = Identity(
        second_factor=environment.boolean("PLUMBLINE_SECOND_FACTOR", default=False),
        passkeys=environment.boolean("PLUMBLINE_PASSKEYS", default=False),
        required=environment.boolean("PLUMBLINE_REQUIRE_SECOND_FACTOR", default=False),
        issuer=environment.url("PLUMBLINE_OIDC_ISSUER", schemes=("https", "http") if local else ("https",)).rstrip("/"),
        provider_name=environment.text("PLUMBLINE_OIDC_NAME", "OpenID Connect"),
        client_id=environment.text("PLUMBLINE_OIDC_CLIENT_ID"),
        client_secret=environment.text("PLUMBLINE_OIDC_CLIENT_SECRET"),
        mail=environment.url("PLUMBLINE_EMAIL_URL", schemes=tuple(MAIL_PORTS)),
        mail_from=environment.text("PLUMBLINE_EMAIL_FROM"),
    )
    if identity.required and not identity.factors:
        raise ImproperlyConfigured(
            "PLUMBLINE_REQUIRE_SECOND_FACTOR is on, but nobody can have one; turn on PLUMBLINE_SECOND_FACTOR or "
            "PLUMBLINE_PASSKEYS too."
        )
    if bool(identity.issuer) != bool(identity.client_id) or (identity.client_id and not identity.client_secret):
        raise ImproperlyConfigured(
            "Set PLUMBLINE_OIDC_ISSUER, PLUMBLINE_OIDC_CLIENT_ID and PLUMBLINE_OIDC_CLIENT_SECRET together, or none of "
            "them."
        )
    if identity.mail and (not urlsplit(identity.mail).hostname or "@" not in identity.mail_from):
        raise ImproperlyConfigured(
            "PLUMBLINE_EMAIL_URL needs a host, as in smtp://user:password@host:587, and PLUMBLINE_EMAIL_FROM the address "
            "from which e-mails are sent."
        )
    return identity


def settings_of(identity: Identity, *, redis_url: str, data_dir: Path) -> dict[str, Any]:
    """Return django-allauth's settings, and those of mail and of a cache that all processes share."""
    found: dict[str, Any] = {
        "ACCOUNT_ADAPTER": "accounts.identity.adapters.AccountRules",
        "ACCOUNT_EMAIL_NOTIFICATIONS": False,
        "ACCOUNT_EMAIL_SUBJECT_PREFIX": "",
        "ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS": False,
        "ACCOUNT_EMAIL_VERIFICATION": "none",
        "ACCOUNT_LOGIN_METHODS": {"username"},
        "ACCOUNT_SIGNUP_FIELDS": ["username*", "password1*", "password2*"],
        "ACCOUNT_FORMS": {
            "reauthenticate": "accounts.identity.forms.ConfirmPassword",
            "reset_password": "accounts.identity.forms.AskForReset",  # nosec B105 # the name of a form
            "reset_password_from_key": "accounts.identity.forms.ResetPassword",  # nosec B105 # the name of a form
        },
        "MFA_ADAPTER": "accounts.identity.factors.SecondFactors",
        "MFA_ALLOW_UNVERIFIED_EMAIL": True,
        "MFA_FORMS": {
            "authenticate": "accounts.identity.factors.SecondFactorCode",
            "reauthenticate": "accounts.identity.factors.ConfirmByCode",
        },
        "MFA_PASSKEY_LOGIN_ENABLED": identity.passkeys,
        "MFA_SUPPORTED_TYPES": [
            *(["totp"] if identity.second_factor else []),
            "recovery_codes",
            *(["webauthn"] if identity.passkeys else []),
        ],
        "MFA_TOTP_ISSUER": "Plumbline",
        "MFA_TOTP_TOLERANCE": 1,
        "SOCIALACCOUNT_ADAPTER": "accounts.identity.provider.ProviderIdentities",
        "SOCIALACCOUNT_PROVIDERS": {"openid_connect": {"APPS": [_provider(identity)], "OAUTH_PKCE_ENABLED": True}},
        "SOCIALACCOUNT_STORE_TOKENS": False,
        # Codes that were used and django-allauth's own limits must be known to every process.
        "CACHES": {
            "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": redis_url}
            if redis_url
            else {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": data_dir / "cache"}
        },
    }
    if identity.mail:
        found |= _mail(identity)
    return found


def apps_of(identity: Identity) -> list[str]:
    return [
        "allauth",
        "allauth.account",
        *(["allauth.mfa"] if identity.factors else []),
        *(["allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"] if identity.issuer else []),
    ]


def middleware_of(identity: Identity) -> list[str]:
    required = ["accounts.identity.required.SecondFactorMiddleware"] if identity.required else []
    return ["allauth.account.middleware.AccountMiddleware", *required]


def _provider(identity: Identity) -> dict[str, Any]:
    return {
        "provider_id": PROVIDER,
        "name": identity.provider_name,
        "client_id": identity.client_id,
        "secret": identity.client_secret,
        "settings": {"server_url": identity.issuer},
    }


def _mail(identity: Identity) -> dict[str, Any]:
    parts = urlsplit(identity.mail)
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or MAIL_PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": 10,
        "DEFAULT_FROM_EMAIL": identity.mail_from,
        "PASSWORD_RESET_TIMEOUT": 24 * 3600,
    }
