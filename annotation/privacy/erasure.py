"""Erase who somebody is: account, identity, platform ids and free texts. Their answers stay, under a pseudonym.

What is kept about an erased person: the scores and their times, the pseudonym, and of a crowd participant a keyed hash
of the platform's id, so that who returns is neither a second rater nor paid twice, and the bonuses that were sent.
"""

from collections import Counter
from collections.abc import Sequence

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import Event, Invitation, Membership, User
from annotation.models import (
    Assignment,
    BonusPayment,
    BrowserRequest,
    Draft,
    Flag,
    LateChange,
    MailedInvitation,
    Participant,
    QuestionnaireAnswer,
    QuestionReview,
    Rater,
    RaterIdentity,
    Score,
    Standing,
    TimeCorrection,
)
from annotation.monitoring.lead_names import OF_LEAD
from annotation.privacy.questionnaire_texts import erase_questionnaire_texts
from annotation.studies.life_cycle import release_rater
from core.db.append_only import removing
from core.db.removal import Removal
from core.errors import UserError

ERASED = "erased"
"""The name under which an administrator's log keeps entries about an erased account."""


def erase_rater(rater: Rater, *, by: User | None) -> dict[str, int]:
    """Erase the identity and the free texts of one rater and return how many rows each kind had."""
    event = Event(
        workspace_id=rater.workspace_id, actor=by, verb="erase_person", object_type="rater", object_id=rater.public_id
    )
    with removing(event):
        counts = _erase_rater(rater)
        event.after = counts
    return counts


def erase_account(user: User, *, by: User | None) -> dict[str, int]:
    """Erase an account with all its raters' identities and free texts; answers stay. Raises UserError.

    The account's sessions, tokens, memberships and invitations go. What it did stays in the log without a name, and what
    it gave to checklists stays without one, too, except for its comments on questions, which go.
    """
    event = Event(verb="erase_account", object_type="accounts.User", object_id=user.public_id, after={})
    with removing(event):
        locked = User.objects.select_for_update().get(pk=user.pk)
        _keep_owners(locked)
        counts: Counter[str] = Counter()
        for rater in Rater.objects.filter(user=locked).order_by("pk"):
            counts.update(_erase_rater(rater))
        for key in Rater.objects.filter(kind=Rater.Kind.KEY, label=OF_LEAD + locked.public_id).order_by("pk"):
            Rater.objects.filter(pk=key.pk).update(pseudonym=f"erased {key.public_id[:8]}")
        Invitation.objects.filter(accepted_by=locked).update(note="")
        comments = QuestionReview.objects.filter(by=locked).exclude(comment="")
        counts["review_comments"] = comments.update(comment="")
        entries = LogEntry.objects.filter(
            content_type=ContentType.objects.get_for_model(User), object_id=str(locked.pk)
        )
        entries.update(object_repr=ERASED)
        removal = Removal().add(User, [locked.pk])
        counts.update({label: n for label, n in removal.counts().items() if label != "accounts.User"})
        removal.carry_out()
        if by is not None and by.pk != user.pk:
            event.actor = by
        event.after = dict(counts)
    end_sessions_of(user)
    return dict(counts)


def end_sessions_of(user: User) -> None:
    """Delete the sessions of an account that is gone; they could not be used, but hold its key."""
    for session in Session.objects.iterator(500):
        if session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()


def what_account_loses(user: User) -> dict[str, int]:
    """How many rows of each kind go with the account, by model label; its answers are not among them."""
    return {label: n for label, n in Removal().add(User, [user.pk]).counts().items() if label != "accounts.User"}


def only_owner_of(user: User) -> list[str]:
    """The slugs of the workspaces that would have no owner without this account."""
    owned = Membership.objects.filter(user=user, role=Membership.Role.OWNER).values("workspace")
    owners = Membership.objects.select_for_update().filter(workspace__in=owned, role=Membership.Role.OWNER)
    by_workspace = Counter(owner.workspace_id for owner in owners.order_by("pk"))
    alone = [pk for pk, n in by_workspace.items() if n == 1]
    memberships = Membership.objects.filter(user=user, workspace__in=alone)
    return list(memberships.order_by("workspace__slug").values_list("workspace__slug", flat=True))


def _keep_owners(user: User) -> None:
    if slugs := only_owner_of(user):
        raise UserError(
            _(
                "This account is the only owner of %(workspaces)s. Make somebody else an owner first, or delete the "
                "workspace."
            )
            % {"workspaces": ", ".join(slugs)}
        )


def _erase_rater(rater: Rater) -> Counter[str]:
    """Inside `removing`, because texts of the record are emptied."""
    with transaction.atomic():
        counts = Counter(erase_texts([rater.pk]))
        counts["identities"] = RaterIdentity.objects.filter(rater=rater).delete()[0]
        mailed = MailedInvitation.objects.filter(rater=rater).exclude(address="", name="")
        counts["mail_addresses"] = mailed.update(address="", name="", reason="")
        Participant.objects.filter(rater=rater).update(submission="", browser="", code="", code_until=None)
        BrowserRequest.objects.filter(participant__rater=rater).delete()
        BonusPayment.objects.filter(rater=rater).update(submission="")
        if rater.study is not None:
            release_rater(rater.study, rater.pk, by=None)
        name = rater.pseudonym or f"erased {rater.public_id[:8]}"
        changed = rater.label != name or rater.user_id is not None
        Rater.objects.filter(pk=rater.pk).update(user=None, label=name, pseudonym=name)
        if changed and rater.study is not None:
            rater.study.reports.all().delete()  # of calibration; they may hold the label
    return counts


def erase_texts(raters: Sequence[int]) -> dict[str, int]:
    """Empty what these people wrote: reasons, notes, explanations, drafts, texts of questionnaires. Inside `removing`."""
    own = Assignment.objects.filter(rater__in=raters)
    reasons = Score.objects.filter(assignment__rater__in=raters).exclude(reason="")
    changes = LateChange.objects.filter(assignment__rater__in=raters)
    emptied = 0
    for change in changes:
        without = {key: {**given, "reason": ""} for key, given in change.answers.items()}
        if without != change.answers:
            LateChange.objects.filter(pk=change.pk).update(answers=without)
            emptied += 1
    return {
        "reasons": reasons.update(reason="", reason_json=None),
        "late_changes": emptied,
        "skips": own.filter(status=Assignment.Status.SKIPPED).exclude(reason="").update(reason="", reason_json=None),
        "time_corrections": TimeCorrection.objects.filter(assignment__rater__in=raters)
        .exclude(reason="")
        .update(reason=""),
        "notes": _erase_notes(raters),
        "drafts": Draft.objects.filter(rater__in=raters).delete()[0],
        "messages": _erase_messages(raters),
        "questionnaire_texts": erase_questionnaire_texts(QuestionnaireAnswer.objects.filter(rater__in=raters)),
    }


def _erase_messages(raters: Sequence[int]) -> int:
    """What leads wrote to them, with the copies that the log has."""
    written = Rater.objects.filter(pk__in=raters).values("public_id")
    Standing.objects.filter(rater__in=raters).exclude(note="").update(note="")
    messages = Event.objects.filter(verb="message_rater", object_type="rater", object_id__in=written)
    return messages.exclude(after={"message": ""}).update(after={"message": ""})


def _erase_notes(raters: Sequence[int]) -> int:
    """Notes to the lead, and the copies that the log has of those that were resolved."""
    notes = Flag.objects.filter(rater__in=raters).exclude(text="").select_related("task")
    for note in notes:
        copies = Event.objects.filter(verb="resolve_flag", object_id=note.task.public_id, after__note=note.text[:200])
        copies.update(after={"note": ""})
    return notes.update(text="")
