"""Everything that a person gave, as data for a file: account, answers, texts, times and participation.

It says nothing that a rater must not learn: not which model wrote a text, nor which tasks check or repeat.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.db.models import Prefetch

from accounts.models import Event, User
from annotation.models import (
    COUNTED,
    Assignment,
    BallotReceipt,
    Draft,
    Flag,
    MailedInvitation,
    ProposedCriterion,
    QuestionDraft,
    QuestionnaireAnswer,
    QuestionReview,
    Rater,
    Score,
)

ACCOUNT = ("username", "email", "first_name", "last_name", "language", "preferences", "date_joined", "last_login")
GIVEN = ("value", "level", "not_applicable", "reason", "evidence", "created_at")
TIMES = ("created_at", "shown_at", "submitted_at", "active_seconds", "idle_seconds")
STANDING = (
    "state",
    "message",
    "note",
    "consented_at",
    "consent_hash",
    "guideline_read_at",
    "trained_at",
    "qualified_at",
)
MAILED = ("name", "state", "reason", "made_at", "sent_at", "used_at")
OPEN_OR_SKIPPED = (Assignment.Status.OPEN, Assignment.Status.SKIPPED)


def data_of(user: User | None, raters: Iterable[Rater]) -> dict[str, Any]:
    """The account, where there is one, and what was given in each study; values are such as JSON can hold, and times."""
    data: dict[str, Any] = {"account": _account(user), "checklists": _checklists(user)} if user is not None else {}
    data["studies"] = [_participation(rater) for rater in raters]
    return data


def own_data_of(user: User) -> dict[str, Any]:
    """Everything that an account and its raters gave, for its owner; that it was read is an event."""
    Event.objects.create(actor=user, verb="export_own_data", object_type="accounts.User", object_id=user.public_id)
    return data_of(user, raters_of(user))


def raters_of(user: User) -> list[Rater]:
    """The raters as whom an account rates, one for each study."""
    return list(
        Rater.objects.filter(user=user).select_related("study", "identity", "standing", "cohort").order_by("pk")
    )


def _account(user: User) -> dict[str, Any]:
    memberships = user.memberships.select_related("workspace").order_by("workspace__slug")
    return {
        **{name: getattr(user, name) for name in ACCOUNT},
        "memberships": [{"workspace": one.workspace.slug, "role": one.role} for one in memberships],
        "tokens": list(user.api_tokens.values("name", "created_at", "used_at", "revoked_at")),
        "invitations_made": list(user.invitations_made.values("note", "role", "made_at", "expires_at")),
        "events": list(user.events.values("verb", "object_type", "object_id", "before", "after", "at")),
    }


def _checklists(user: User) -> dict[str, Any]:
    """What the account gave to checklists. Of a vote there is only that it took part: nobody can tell its ballot."""
    return {
        "proposals": list(
            ProposedCriterion.objects.filter(by=user).values(
                "checklist__public_id", "name", "explanation", "at", "withdrawn_at"
            )
        ),
        "votes": list(BallotReceipt.objects.filter(by=user).values("checklist__public_id", "at")),
        "questions": list(
            QuestionDraft.objects.filter(by=user).values("criterion__checklist__public_id", "texts", "at")
        ),
        "reviews": list(
            QuestionReview.objects.filter(by=user).values(
                "question__criterion__checklist__public_id", "sound", "comment", "at"
            )
        ),
    }


def _participation(rater: Rater) -> dict[str, Any]:
    identity, standing = getattr(rater, "identity", None), getattr(rater, "standing", None)
    participant = getattr(rater, "participant", None)
    assignments = Assignment.objects.filter(rater=rater).order_by("order", "pk")
    scores = Score.objects.select_related("criterion").order_by("criterion", "revision")
    rows = assignments.prefetch_related(Prefetch("scores", scores), "late_changes", "time_corrections")
    return {
        "study": rater.study.slug if rater.study else "",
        "name": rater.study.name if rater.study else "",
        "pseudonym": rater.name,
        "cohort": rater.cohort.name if rater.cohort else "",
        "joined_at": rater.created_at,
        "identity": {name: getattr(identity, name) for name in ("key", "name", "particulars")} if identity else None,
        "invited_by_mail": MailedInvitation.objects.filter(rater=rater).values("address", *MAILED).first(),
        "bonuses": [
            {
                "amount": str(Decimal(one.minor).scaleb(-2)),
                "currency": one.batch.currency,
                "for": one.batch.purpose,
                "state": one.batch.state,
                "at": one.batch.confirmed_at,
            }
            for one in rater.bonus_payments.filter(batch__state__in=COUNTED).select_related("batch")
        ],
        "participation_began_at": participant.began_at if participant else None,
        "standing": {name: getattr(standing, name) for name in STANDING} if standing else None,
        "answers": [_answer(assignment) for assignment in rows],
        "drafts": list(Draft.objects.filter(rater=rater).values("answers", "saved_at")),
        "questionnaires": [
            {
                "moment": given.moment,
                "questions": given.questionnaire.questions,
                "answers": given.answers,
                "language": given.language,
                "created_at": given.created_at,
            }
            for given in QuestionnaireAnswer.objects.filter(rater=rater).select_related("questionnaire")
        ],
        "notes": list(Flag.objects.filter(rater=rater).values("kind", "text", "created_at")),
    }


def _answer(assignment: Assignment) -> dict[str, Any]:
    # "submitted" for whatever was: other states tell which tasks were checks.
    status = assignment.status if assignment.status in OPEN_OR_SKIPPED else Assignment.Status.SUBMITTED
    skipped = assignment.status == Assignment.Status.SKIPPED
    return {
        "id": assignment.public_id,
        "status": str(status),
        "reason": assignment.reason if skipped else "",
        **{name: getattr(assignment, name) for name in TIMES},
        "scores": [
            {"criterion": score.criterion.key, **{name: getattr(score, name) for name in GIVEN}}
            for score in assignment.scores.all()
        ],
        "late_changes": [
            {"answers": change.answers, "created_at": change.created_at} for change in assignment.late_changes.all()
        ],
        "time_corrections": [
            {name: getattr(one, name) for name in ("seconds", "claimed", "reason", "created_at")}
            for one in assignment.time_corrections.all()
        ],
    }
