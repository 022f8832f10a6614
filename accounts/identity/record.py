"""Second factors and identities that are added and removed, as events of the account."""

from typing import Any

from allauth.account.signals import email_confirmed, email_removed
from django.conf import settings

from accounts.models import User
from accounts.sign_in.record import record


def watch_identities() -> None:
    """Record what django-allauth says through its signals, the one place that all its pages pass."""
    email_confirmed.connect(_address_confirmed, dispatch_uid="accounts.identity.email_confirmed")
    email_removed.connect(_address_removed, dispatch_uid="accounts.identity.email_removed")
    if settings.IDENTITY.factors:
        from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset

        authenticator_added.connect(_factor_added, dispatch_uid="accounts.identity.added")
        authenticator_removed.connect(_factor_removed, dispatch_uid="accounts.identity.removed")
        authenticator_reset.connect(_factor_reset, dispatch_uid="accounts.identity.reset")
    if settings.IDENTITY.issuer:
        from allauth.socialaccount.signals import social_account_added, social_account_removed

        social_account_added.connect(_identity_added, dispatch_uid="accounts.identity.connected")
        social_account_removed.connect(_identity_removed, dispatch_uid="accounts.identity.disconnected")


def _factor_added(user: User, authenticator: Any, **others: Any) -> None:
    record(user, "second factor added", actor=user, after={"kind": str(authenticator.type)})


def _factor_removed(user: User, authenticator: Any, **others: Any) -> None:
    record(authenticator.user, "second factor removed", actor=user, after={"kind": str(authenticator.type)})


def _factor_reset(user: User, authenticator: Any, **others: Any) -> None:
    record(user, "second factor renewed", actor=user, after={"kind": str(authenticator.type)})


def _identity_added(sociallogin: Any, **others: Any) -> None:
    record(sociallogin.user, "identity connected", actor=sociallogin.user)


def _identity_removed(socialaccount: Any, **others: Any) -> None:
    record(socialaccount.user, "identity disconnected", actor=socialaccount.user)


def _address_confirmed(email_address: Any, **others: Any) -> None:
    record(email_address.user, "e-mail address verified", actor=email_address.user)


def _address_removed(user: User, **others: Any) -> None:
    record(user, "e-mail address removed", actor=user)
