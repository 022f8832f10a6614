"""The minimum for a complete participation: answers, checks passed, minutes of work.

Without a number of answers the study requires its quota and, without a quota, at least as many answers as skips, and at
least one.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _, ngettext

from accounts.models import Event, User
from annotation.assignment.leases import COUNTED
from annotation.models import Assignment, CheckOutcome, Rater, Study
from annotation.policies.policies import CONTROL, GOLD, HIGHEST_MINIMUM, Minimum, Policies, change_policies
from annotation.recruitment.participants import in_this_submission


@dataclass(frozen=True)
class MinimumPart:
    """What a rater has done in the current submission; `checks` is (passed, total)."""

    answered: int
    skipped: int
    minutes: float
    checks: tuple[int, int]


def minimum_of(study: Study) -> Minimum:
    """The study's minimum, with its quota in place of the answers. Raises BadPolicy."""
    policies = Policies.of(study).checked("minimum")
    minimum, quota = policies.minimum, policies.quota
    if quota is None:
        return minimum
    return replace(minimum, answers=quota if minimum.answers is None else min(minimum.answers, quota))


def change_minimum(study: Study, stated: dict[str, int], *, by: User | None) -> None:
    """Change the study's minimum, and log it."""
    before = as_stated(Policies.of(study).minimum)
    if stated == before:
        return
    with transaction.atomic():
        change_policies(study, minimum=stated)
        Event.objects.create(
            workspace_id=study.workspace_id,
            actor=by,
            verb="change_study",
            object_type="study",
            object_id=study.public_id,
            before={"minimum": before},
            after={"minimum": stated},
        )


def as_stated(minimum: Minimum) -> dict[str, int]:
    """The minimum as stored: without what it leaves open."""
    return {name: value for name, value in asdict(minimum).items() if value is not None}


def part_of(rater: Rater) -> MinimumPart:
    """What the rater has done since the submission under way began, or ever; two queries."""
    own = Assignment.objects.filter(in_this_submission(rater), rater=rater)
    outcomes = CheckOutcome.objects.filter(assignment__in=own, purpose__in=[GOLD, CONTROL])
    work = own.aggregate(
        answered=Count("pk", filter=COUNTED),
        skipped=Count("pk", filter=Q(status=Assignment.Status.SKIPPED)),
        seconds=Coalesce(Sum("active_seconds", filter=COUNTED), 0.0),
    )
    checks = outcomes.aggregate(passed=Count("pk", filter=Q(passed=True)), all=Count("pk"))
    return MinimumPart(work["answered"], work["skipped"], work["seconds"] / 60, (checks["passed"], checks["all"]))


def lacks_tasks(part: MinimumPart, minimum: Minimum) -> bool:
    """Whether the rater is short of answers because the study had no more tasks for them, not because they skipped."""
    if minimum.answers is None:
        return part.answered + part.skipped == 0
    return part.answered < minimum.answers and part.answered + part.skipped < minimum.answers


def shortfalls(part: MinimumPart, minimum: Minimum) -> list[str]:
    """What is missing, as messages for the rater; empty if the participation is complete."""
    lacking = []
    wanted = max(1, part.skipped) if minimum.answers is None else minimum.answers
    if part.answered < wanted:
        counts = {"n": part.answered, "skipped": part.skipped, "wanted": wanted}
        if minimum.answers is None:
            lacking.append(
                _("You answered %(n)s tasks and skipped %(skipped)s. Answer at least as many as you skip.") % counts
            )
        else:
            lacking.append(_("You answered %(n)s of the %(wanted)s required tasks and skipped %(skipped)s.") % counts)
    right, of = part.checks
    if minimum.checks is not None and of and 100 * right < minimum.checks * of:
        lacking.append(
            _("You gave the expected answer to fewer than %(n)s %% of the texts with a known answer.")
            % {"n": minimum.checks}
        )
    if minimum.minutes is not None and part.minutes < minimum.minutes:
        figures = {"n": int(part.minutes), "wanted": minimum.minutes}
        lacking.append(_("You worked %(n)s of the %(wanted)s required minutes.") % figures)
    return lacking


def minimum_words(study: Study) -> list[str]:
    """The requirements for a complete participation, as the invitation states them."""
    minimum = minimum_of(study)
    words = []
    if minimum.answers is not None:
        words.append(
            ngettext("At least %(n)s answer.", "At least %(n)s answers.", minimum.answers) % {"n": minimum.answers}
        )
    else:
        words.append(_("At least one answer, and no more tasks skipped than answered."))
    if minimum.checks is not None:
        words.append(
            _("The expected answer to at least %(n)s %% of the texts with a known answer.") % {"n": minimum.checks}
        )
    if minimum.minutes is not None:
        words.append(
            ngettext("At least %(n)s minute of work.", "At least %(n)s minutes of work.", minimum.minutes)
            % {"n": minimum.minutes}
        )
    return words


def stated_in(form: dict[str, Any]) -> dict[str, int]:
    """The policy that a lead's form states, without what was left empty."""
    return {name: form[name] for name in HIGHEST_MINIMUM if form.get(name)}
