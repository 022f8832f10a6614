"""Invitations by e-mail: one row and one link for each person, sent by a worker within a rate.

A message is claimed before it is sent. Where the worker ends in between, nobody knows whether the mail server took it, so
it counts as failed and is sent again only if the lead asks.
"""

import logging
import re
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import get_language, gettext as _, gettext_noop, override

from accounts.models import Event, User
from annotation.models import Cohort, MailedInvitation, Rater
from annotation.recruitment.cohorts import LinkClosed
from annotation.recruitment.expected import part_of_one
from core.background import send_after_commit
from core.clock import Clock
from core.errors import UserError

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 500
LONGEST_SENDING = timedelta(minutes=10)
NAMED = re.compile(r"[^<>]*<([^<>]+)>")
BETWEEN = re.compile(r"[\n\r,;]+")
OUTCOME_UNKNOWN = gettext_noop("The worker ended while it sent this message. It may have arrived.")
LINK_CLOSED = gettext_noop("The cohort's link is closed.")
State = MailedInvitation.State


def is_mail_set_up() -> bool:
    """Return whether the operator has named a mail server."""
    return bool(settings.IDENTITY and settings.IDENTITY.mail)


def addresses_in(text: str) -> list[str]:
    """Return the addresses in a list separated by lines, commas or semicolons, each once. Raises UserError."""
    found: dict[str, str] = {}
    for entry in filter(None, (one.strip() for one in BETWEEN.split(text))):
        named = NAMED.fullmatch(entry)
        address = (named[1] if named else entry).strip()
        try:
            validate_email(address)
        except ValidationError:
            raise UserError(_("“%(entry)s” is not an e-mail address.") % {"entry": entry[:100]}) from None
        if len(address) > 254:
            raise UserError(_("“%(entry)s” is not an e-mail address.") % {"entry": entry[:100]})
        found.setdefault(address.lower(), address)
    if not found:
        raise UserError(_("Enter at least one e-mail address."))
    if len(found) > MOST_AT_ONCE:
        raise UserError(_("Enter at most %(n)s addresses at once.") % {"n": MOST_AT_ONCE})
    return list(found.values())


def left_today(cohort: Cohort, *, clock: Clock) -> int:
    """Return how many more people the leads of the workspace may invite by e-mail within this day of 24 hours."""
    lately = MailedInvitation.objects.filter(
        cohort__study__workspace=cohort.study.workspace_id, made_at__gt=clock() - timedelta(days=1)
    ).exclude(state=State.HELD)
    return max(0, int(settings.MAILS_A_DAY) - lately.count())


def invite(cohort: Cohort, addresses: Sequence[str], *, origin: str, by: User, clock: Clock) -> tuple[int, int]:
    """Store an invitation for each address and ask a worker to send them.

    Returns how many are new and how many addresses were invited before. Raises UserError where mail is not set up, where
    the cohort is one of a crowd platform, and beyond the limit of a day.
    """
    if not is_mail_set_up() or cohort.kind == Cohort.Kind.CROWD:
        raise UserError(_("This cohort cannot be invited by e-mail."))
    with transaction.atomic():
        Cohort.objects.select_for_update(no_key=True).get(pk=cohort.pk)
        invited = MailedInvitation.objects.filter(cohort=cohort).exclude(address="")
        known = dict(invited.annotate(lower=Lower("address")).values_list("lower", "state"))
        new = [address for address in addresses if address.lower() not in known]
        listed = [address.lower() for address in addresses if known.get(address.lower()) == State.HELD]
        count = len(new) + len(listed)
        left = left_today(cohort, clock=clock)
        if count > left:
            raise UserError(
                _("Your workspace can invite no more than %(n)s people by e-mail today; you entered %(m)s.")
                % {"n": left, "m": count}
            )
        made = {"origin": origin.rstrip("/"), "made_at": clock(), "made_by": by}
        made |= {"language": get_language() or settings.LANGUAGE_CODE}
        of_list = held(cohort).annotate(lower=Lower("address")).filter(lower__in=listed).values_list("pk", flat=True)
        MailedInvitation.objects.filter(pk__in=list(of_list)).update(state=State.WAITING, **made)
        MailedInvitation.objects.bulk_create(
            MailedInvitation(cohort=cohort, address=address, **made) for address in new
        )
        if count:
            _log(cohort, by, "invite_by_mail", count)
            send_after_commit("annotation.send_mails", kept=False)
    return count, len(addresses) - count


def held(cohort: Cohort) -> QuerySet[MailedInvitation]:
    """Return the invitations of an uploaded list that have an address, are unused, and no message was asked for."""
    return cohort.mailed_invitations.filter(state=State.HELD, used_at=None).exclude(address="")


def send_held(cohort: Cohort, *, expected: int, origin: str, by: User, clock: Clock) -> int:
    """Ask a worker to send a message to each person of `held`; return how many they are.

    Raises UserError unless they are as many as the lead was shown, where mail is not set up, for a cohort of a crowd
    platform, and beyond the limit of a day.
    """
    if not is_mail_set_up() or cohort.kind == Cohort.Kind.CROWD:
        raise UserError(_("This cohort cannot be invited by e-mail."))
    with transaction.atomic():
        Cohort.objects.select_for_update(no_key=True).get(pk=cohort.pk)
        rows, left = held(cohort), left_today(cohort, clock=clock)
        count = rows.count()
        if count != expected:
            raise UserError(_("The list has changed meanwhile. Look at the number of people again."))
        if count > left:
            raise UserError(
                _("Your workspace can invite no more than %(n)s people by e-mail today; the list has %(m)s.")
                % {"n": left, "m": count}
            )
        language = get_language() or settings.LANGUAGE_CODE
        rows.filter(language="").update(language=language)
        rows.update(state=State.WAITING, origin=origin.rstrip("/"), made_at=clock(), made_by=by)
        if count:
            _log(cohort, by, "invite_by_mail", count)
            send_after_commit("annotation.send_mails", kept=False)
    return count


def resend_failed(cohort: Cohort, *, by: User) -> int:
    """Send what failed once more, with the same links; return how many messages that are."""
    with transaction.atomic():
        failed = cohort.mailed_invitations.filter(state=State.FAILED, used_at=None).exclude(address="")
        count = failed.update(state=State.WAITING, reason="")
        if count:
            _log(cohort, by, "resend_mails", count)
            send_after_commit("annotation.send_mails", kept=False)
    return count


def erase_address(cohort: Cohort, pk: int, *, by: User) -> bool:
    """Erase one address and the name beside it; a message that waits is not sent. Return False if there is neither."""
    with transaction.atomic():
        mine = cohort.mailed_invitations.filter(pk=pk).exclude(address="", name="")
        unsent = mine.filter(state__in=[State.WAITING, State.FAILED])
        unsent.update(state=State.FAILED)
        erased = mine.update(address="", name="", reason="")
        if erased:
            _log(cohort, by, "erase_mail_address", erased)
    return bool(erased)


def _log(cohort: Cohort, by: User, verb: str, count: int) -> None:
    """An event without any address."""
    Event.objects.create(
        workspace_id=cohort.study.workspace_id,
        actor=by,
        verb=verb,
        object_type="cohort",
        object_id=str(cohort.pk),
        after={"count": count},
    )


def check_unused(invitation: MailedInvitation, rater: Rater | None) -> None:
    """Raise LinkClosed where somebody else than this rater has used the invitation."""
    if invitation.used_at is not None and (rater is None or invitation.rater_id != rater.pk):
        raise LinkClosed(
            _(
                "This invitation has already been used. Continue in the browser in which you began, or ask the person "
                "who invited you."
            )
        )


def use_invitation(invitation: MailedInvitation, rater: Rater, *, clock: Clock) -> None:
    """Let the invitation admit this rater and nobody after. Raises LinkClosed if it was used at this moment."""
    unused = MailedInvitation.objects.filter(pk=invitation.pk, used_at=None)
    if MailedInvitation.objects.filter(rater=rater).exists():
        return
    if not unused.update(rater=rater, used_at=clock()):
        raise LinkClosed(_("This invitation has already been used. Ask the person who invited you for another one."))


def send_waiting(clock: Clock) -> int:
    """Send the messages that wait, as many as the rate of a minute still allows; return how many were sent."""
    if not is_mail_set_up():
        return 0
    stuck = MailedInvitation.objects.filter(state=State.SENDING, attempted_at__lt=clock() - LONGEST_SENDING)
    stuck.update(state=State.FAILED, reason=OUTCOME_UNKNOWN)
    sent = 0
    while True:
        invitation = _claimed(clock)
        if invitation is None:
            return sent
        sent += _send(invitation, clock)


def _claimed(clock: Clock) -> MailedInvitation | None:
    """The next message, taken by this worker; None if none waits or the minute is used up."""
    lately = MailedInvitation.objects.filter(attempted_at__gt=clock() - timedelta(minutes=1)).count()
    if lately >= settings.MAILS_A_MINUTE:
        return None
    waiting = MailedInvitation.objects.filter(state=State.WAITING).exclude(address="")
    for pk in waiting.order_by("pk").values_list("pk", flat=True)[:20]:
        if waiting.filter(pk=pk).update(state=State.SENDING, attempted_at=clock()):
            return MailedInvitation.objects.select_related("cohort__study__workspace", "made_by").get(pk=pk)
    return None


def _send(invitation: MailedInvitation, clock: Clock) -> int:
    """Send one message and note what became of it; return 1 if the mail server took it."""
    reason = _why_not(invitation, clock)
    if not reason:
        try:
            get_connection(fail_silently=False).send_messages([message_of(invitation)])
        except (
            OSError,
            ValueError,
        ) as error:  # what smtplib raises derives from the first, a bad header from the second
            logger.warning("An invitation could not be sent: %s", type(error).__name__)
            reason = f"{type(error).__name__}: {error}"[:300]
    mine = MailedInvitation.objects.filter(pk=invitation.pk, state=State.SENDING)
    if reason:
        mine.exclude(address="").update(state=State.FAILED, reason=reason)
        mine.update(state=State.FAILED)
        return 0
    return mine.update(state=State.SENT, sent_at=clock(), reason="")


def _why_not(invitation: MailedInvitation, clock: Clock) -> str:
    cohort = invitation.cohort
    is_over = cohort.expires_at is not None and cohort.expires_at <= clock()
    return LINK_CLOSED if is_over or cohort.revoked_at is not None else ""


def message_of(invitation: MailedInvitation) -> EmailMessage:
    """Return the message, in the language in which the lead wrote."""
    cohort, lead = invitation.cohort, invitation.made_by
    with override(invitation.language):
        context = {
            "study": cohort.study,
            "cohort": cohort,
            "part": part_of_one(cohort.study),
            "lead": lead,
            "link": invitation.origin + reverse("annotation:join", args=[invitation.token]),
        }
        subject = _("Invitation to rate: %(study)s") % {"study": cohort.study.name}
        body = render_to_string("annotation/invitation_mail.txt", context)
    reply_to = [lead.email] if lead is not None and lead.email else None
    return EmailMessage(" ".join(subject.split())[:200], body, None, [invitation.address], reply_to=reply_to)
