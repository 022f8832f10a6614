"""Invitations to a workspace: a link that one person accepts for one role."""

import logging
import secrets
from datetime import timedelta

from django.core.mail import send_mail
from django.db import transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from accounts.api.tokens import digest_of
from accounts.members.changes import check_name, check_role, log, new_account, roles_granted_by, sign_in_name
from accounts.models import ApiToken, Event, Invitation, Membership, User, Workspace
from core.clock import Clock
from core.errors import UserError

logger = logging.getLogger(__name__)
MOST_DAYS = 30
"""How long a link may be open."""


class InvitationClosed(UserError):
    """The link admits nobody, or not this account; the message addresses the person who followed it."""


def invite(
    *, workspace: Workspace, role: str, note: str, days: int, by: User, clock: Clock, token: ApiToken | None = None
) -> tuple[Invitation, str]:
    """Return the invitation and the secret of its link, which is shown once. Raises PeopleRefused as check_role does.

    An invitation that a program makes with its `token` ends with the token, so that who stole one keeps no way in.
    """
    check_role(by, workspace, role)
    secret, expires_at = secrets.token_urlsafe(32), clock() + timedelta(days=days)
    with transaction.atomic():
        invitation = Invitation.objects.create(
            workspace=workspace,
            role=role,
            note=note,
            digest=digest_of(secret),
            made_by=by,
            made_with=token,
            expires_at=expires_at if token is None else min(expires_at, token.expires_at),
        )
        _log(invitation, by, "invitation made", after={"role": role, "note": note, "days": days})
    return invitation, secret


def send_invitation(invitation: Invitation, link: str, address: str) -> bool:
    """Send the link by e-mail; return whether the mail server took it."""
    context = {"invitation": invitation, "link": link}
    subject = _("Invitation to %(workspace)s") % {"workspace": invitation.workspace.name}
    try:
        return send_mail(subject, render_to_string("accounts/invitation_mail.txt", context), None, [address]) == 1
    except OSError:  # what smtplib raises derives from it
        logger.exception("An invitation could not be sent.")
        return False


def invitation_behind(secret: str) -> Invitation | None:
    found = Invitation.objects.select_related("workspace", "made_by", "made_with")
    return found.filter(digest=digest_of(secret)).first()


def open_invitations(workspace: Workspace, *, clock: Clock) -> QuerySet[Invitation]:
    waiting = workspace.invitations.filter(accepted_at=None, withdrawn_at=None, expires_at__gt=clock())
    return waiting.filter(made_with__revoked_at=None).select_related("made_by")


def check_invitation(invitation: Invitation, user: User | None, *, clock: Clock) -> None:
    """Raise InvitationClosed if the link is no longer valid or the user is already a member."""
    if invitation.accepted_at is not None:
        raise InvitationClosed(_("This invitation has already been used. If it was not you, ask for a new one."))
    if invitation.withdrawn_at is not None or not _still_granted(invitation):
        raise InvitationClosed(_("This invitation has been withdrawn. Ask the person who sent it for a new one."))
    if invitation.expires_at <= clock():
        raise InvitationClosed(_("This invitation has expired. Ask the person who sent it for a new one."))
    if user is not None and invitation.workspace.memberships.filter(user=user).exists():
        raise InvitationClosed(
            _(
                "You are already a member of %(workspace)s, so nothing has changed. An owner or a lead can change "
                "your role."
            )
            % {"workspace": invitation.workspace.name}
        )


def withdraw(*, invitation: Invitation, by: User, clock: Clock) -> None:
    """Withdraw the invitation. Raises PeopleRefused if the user cannot give its role."""
    check_role(by, invitation.workspace, invitation.role)
    with transaction.atomic():
        waiting = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, withdrawn_at=None)
        if waiting.update(withdrawn_at=clock()):
            _log(invitation, by, "invitation withdrawn", before={"role": invitation.role})


def accept(*, invitation: Invitation, user: User, clock: Clock) -> None:
    """Make the accepting user a member; nobody in the workspace gains control over the account.

    Raises InvitationClosed.
    """
    with transaction.atomic():
        # A lead who renews the password of the account at the same moment waits, and then sees where it belongs.
        User.objects.select_for_update(of=("self",)).get(pk=user.pk)
        _use(invitation, user, clock=clock)


def accept_as_new(*, invitation: Invitation, name: str, password: str | None, clock: Clock) -> User:
    """Create an account for the invited person with the password they chose, or without one.

    Raises InvitationClosed, and PeopleRefused for an invalid name.
    """
    check_name(sign_in_name(name, invitation.workspace))
    with transaction.atomic():
        check_invitation(_locked(invitation), None, clock=clock)
        user = new_account(invitation.workspace, name, password=password, given=False)
        _use(invitation, user, clock=clock)
    return user


def _use(invitation: Invitation, user: User, *, clock: Clock) -> None:
    locked = _locked(invitation)
    check_invitation(locked, user, clock=clock)
    Invitation.objects.filter(pk=locked.pk).update(accepted_at=clock(), accepted_by=user)
    Membership.objects.create(workspace=locked.workspace, user=user, role=locked.role)
    log(
        locked.workspace,
        user,
        "invitation accepted",
        user,
        after={"role": locked.role, "invited_by": locked.made_by.public_id},
    )


def _locked(invitation: Invitation) -> Invitation:
    """Return the current row, locked until the transaction ends, so that only the first of two people can accept it."""
    found = Invitation.objects.select_for_update(of=("self",))
    return found.select_related("workspace", "made_by", "made_with").get(pk=invitation.pk)


def _still_granted(invitation: Invitation) -> bool:
    """Return whether the inviter may still give the role, so that a removed lead cannot return by their own link.

    Who revokes a token takes back the links that it made as well.
    """
    maker, token = invitation.made_by, invitation.made_with
    if token is not None and token.revoked_at is not None:
        return False
    return maker.is_active and invitation.role in roles_granted_by(maker, invitation.workspace)


def _log(
    invitation: Invitation,
    by: User,
    verb: str,
    *,
    before: dict[str, str] | None = None,
    after: dict[str, str | int] | None = None,
) -> None:
    Event.objects.create(
        workspace=invitation.workspace,
        actor=by,
        verb=verb,
        object_type="accounts.Invitation",
        object_id=invitation.public_id,
        before=before,
        after=after,
    )
