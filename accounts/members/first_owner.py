"""The first owner of an installation: made once, in the browser, at this machine or with a one-time code.

The row of the code is also the lock for which two browsers wait, so that only the first of them makes an owner.
"""

import logging
import secrets
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.api.tokens import digest_of
from accounts.members.changes import check_name, log
from accounts.members.workspaces import workspace_for_command
from accounts.models import Membership, SetupCode, User, Workspace
from accounts.sign_in.client_address import client_address, from_this_machine
from accounts.sign_in.limit import Counted, keyed
from core.clock import Clock
from core.errors import UserError

logger = logging.getLogger(__name__)

VALID_FOR = timedelta(hours=1)
ONLY_ROW = 1
PARTS = 5
"""A code has 80 bits, so that limits per address are enough: a limit for all visitors would let one keep out the owner."""


class OwnerKnown(UserError):
    """The installation has an account already; its first owner was made by somebody else."""


class CodeRefused(UserError):
    """The code is wrong, has been used, or is older than an hour."""


def has_no_account() -> bool:
    return not User.objects.exists()


def needs_code(request: HttpRequest) -> bool:
    """Return whether whoever makes the first owner must show that they can read the server's output or log."""
    return not (settings.ON_LOOPBACK and from_this_machine(request))


def new_code(*, clock: Clock) -> str:
    """Return a one-time code of which the database holds a digest; the code before it is void."""
    code = "-".join(secrets.token_hex(2) for _part in range(PARTS))
    values = {"digest": digest_of(code), "expires_at": clock() + VALID_FOR}
    SetupCode.objects.update_or_create(pk=ONLY_ROW, defaults=values)
    return code


def keep_code_in_log(*, clock: Clock) -> None:
    """Write a new code to the log if none is valid; whoever opens the page again voids none."""
    with transaction.atomic():
        row = _locked(clock)
        if row.digest and row.expires_at > clock():
            return
        code = new_code(clock=clock)
    logger.warning(
        "There is no account yet. Open /begin/ and enter the one-time code %s to make the first owner; it is valid for "
        "an hour.",
        code,
    )


def make_first_owner(*, name: str, password: str, code: str | None, clock: Clock) -> User:
    """Make the owner of the workspace, which is made too if there is none; `code` is None where none is needed.

    Raises OwnerKnown, CodeRefused, and PeopleRefused for an invalid name.
    """
    check_name(name)
    with transaction.atomic():
        row = _locked(clock)
        if not has_no_account():
            raise OwnerKnown(_("The first owner has already been made. Sign in, or ask them for an invitation."))
        if code is not None and not _is_valid(row, code, clock):
            raise CodeRefused(
                _(
                    "This code is wrong, used or older than an hour. Restart the server, or read the newest one in its log."
                )
            )
        workspaces = list(Workspace.objects.order_by("pk")) or [workspace_for_command()]
        user = User.objects.create_user(User.normalize_username(name), password=password, made_in=workspaces[0])
        for workspace in workspaces:
            Membership.objects.create(workspace=workspace, user=user, role=Membership.Role.OWNER)
            after: dict[str, str | int | bool] = {"role": Membership.Role.OWNER.value, "account_made": True}
            log(workspace, user, "first owner made", user, after=after)
        SetupCode.objects.filter(pk=ONLY_ROW).update(digest="")
    return user


def counted_for_code(request: HttpRequest) -> Counted:
    """Return where an attempt at the code counts: at the visitor's address."""
    address = client_address(request)
    return Counted(visitor=keyed("first owner", "visitor", address), address=keyed("first owner", address))


def _locked(clock: Clock) -> SetupCode:
    """Return the row of the code, locked until the transaction ends."""
    SetupCode.objects.get_or_create(pk=ONLY_ROW, defaults={"expires_at": clock()})
    return SetupCode.objects.select_for_update().get(pk=ONLY_ROW)


def _is_valid(row: SetupCode, code: str, clock: Clock) -> bool:
    return row.expires_at > clock() and secrets.compare_digest(row.digest, digest_of(code.strip().lower()))
