"""Remove what the operator keeps for so many days only, a little at a time, by the settings PLUMBLINE_RETAIN_..._DAYS.

Free texts are emptied, identities, drafts and events of signing in are deleted. Scores stay.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import Event
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
    Rater,
    RaterIdentity,
    Score,
    TimeCorrection,
)
from annotation.privacy.questionnaire_texts import erase_questionnaire_texts, holds_text
from core.clock import Clock
from core.db.append_only import removing

AT_ONCE = 500
BATCHES = 20
"""Batches of each kind in one sweep, so that nothing else waits for long."""
PEOPLE = (Rater.Kind.PERSON, Rater.Kind.SLOT)
Removing = tuple[QuerySet[Any], Callable[[QuerySet[Any]], object]]


def retain(clock: Clock) -> dict[str, int]:
    """Remove what is older than its setting says; return how many rows of each kind that was."""
    kinds = {"texts": _texts, "participants": _identities, "sign_ins": _sign_ins, "drafts": _drafts}
    return {
        kind: _in_batches(kind, find, clock() - timedelta(days=settings.RETAIN_DAYS[kind]))
        for kind, find in kinds.items()
        if settings.RETAIN_DAYS[kind]
    }


def _in_batches(kind: str, find: Callable[[datetime], Iterator[Removing]], before: datetime) -> int:
    total = 0
    for rows, remove in find(before):
        for _batch in range(BATCHES):
            pks = list(islice(_due(rows), AT_ONCE))
            if not pks:
                break
            after = {"table": rows.model._meta.label, "rows": len(pks), "older_than": before.isoformat()}
            with removing(Event(verb="retention", object_type="settings", object_id=kind, after=after)):
                remove(rows.model._base_manager.filter(pk__in=pks))
            total += len(pks)
    return total


def _due(rows: QuerySet[Any]) -> Iterator[int]:
    if rows.model is QuestionnaireAnswer:
        answered = rows.order_by("pk").select_related("questionnaire").iterator(AT_ONCE)
        return (one.pk for one in answered if holds_text(one))
    if rows.model is not LateChange:
        return iter(rows.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    changes = rows.order_by("pk").values_list("pk", "answers").iterator(AT_ONCE)
    return (pk for pk, answers in changes if any(given.get("reason") for given in answers.values()))


def _texts(before: datetime) -> Iterator[Removing]:
    given = {"assignment__rater__kind__in": PEOPLE, "created_at__lt": before}
    own = {"rater__kind__in": PEOPLE, "created_at__lt": before}
    yield (Score.objects.filter(**given).exclude(reason=""), lambda rows: rows.update(reason="", reason_json=None))
    yield LateChange.objects.filter(**given), _empty_changes
    yield QuestionnaireAnswer.objects.filter(**own), erase_questionnaire_texts
    yield TimeCorrection.objects.filter(**given).exclude(reason=""), lambda rows: rows.update(reason="")
    yield (
        Assignment.objects.filter(**own, status=Assignment.Status.SKIPPED).exclude(reason=""),
        lambda rows: rows.update(reason="", reason_json=None),
    )
    yield Flag.objects.filter(**own).exclude(text=""), lambda rows: rows.update(text="")
    copies = Event.objects.filter(verb="resolve_flag", at__lt=before).exclude(after={"note": ""})
    yield copies, lambda rows: rows.update(after={"note": ""})


def _empty_changes(rows: QuerySet[Any]) -> None:
    for change in rows:
        without = {key: {**given, "reason": ""} for key, given in change.answers.items()}
        LateChange.objects.filter(pk=change.pk).update(answers=without)


def _identities(before: datetime) -> Iterator[Removing]:
    """Of people who joined and last answered before then; the keyed hash of a platform's id stays."""
    lately = Assignment.objects.filter(rater=OuterRef("rater")).filter(
        Q(created_at__gte=before) | Q(submitted_at__gte=before)
    )
    yield RaterIdentity.objects.filter(~Exists(lately), created_at__lt=before), _forget
    mailed = MailedInvitation.objects.filter(~Exists(lately), made_at__lt=before).exclude(address="", name="")
    yield mailed, lambda rows: rows.update(address="", name="", reason="")


def _forget(rows: QuerySet[Any]) -> None:
    raters = list(rows.values_list("rater", flat=True))
    BrowserRequest.objects.filter(participant__rater__in=raters).delete()
    Participant.objects.filter(rater__in=raters).update(submission="", code="", code_until=None)
    BonusPayment.objects.filter(rater__in=raters).update(submission="")
    rows.delete()


def _sign_ins(before: datetime) -> Iterator[Removing]:
    signing_in = Q(verb__startswith="sign") | Q(verb__in=("second factor refused", "second factor failed"))
    yield Event.objects.filter(signing_in, object_type="accounts.User", at__lt=before), lambda rows: rows.delete()


def _drafts(before: datetime) -> Iterator[Removing]:
    yield Draft.objects.filter(saved_at__lt=before), lambda rows: rows.delete()
