"""The next step of a study in words, with the page on which it is done."""

from dataclasses import dataclass, replace

from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import User
from annotation.models import Study
from annotation.studies.access import studies_listed
from core.web.addresses import full_slug
from generation.models import Benchmark
from judging.comparison.next_step import Facts, Step, facts_of, next_step

LEADS_ONLY = frozenset({Step.SET_UP, Step.UPLOAD, Step.OPEN, Step.INVITE, Step.FIT, Step.ASK})
"""Steps that change a study; everybody who may read its results can do the others."""
STUDIES_LOOKED_AT = 20
"""Newest studies of a benchmark among which its leaderboard looks for one that people rated."""


@dataclass(frozen=True)
class ShownStep:
    """A step: why it is the next one, its button, and where that leads. `status` is what a form must send instead."""

    step: Step
    why: str
    button: str
    address: str
    status: str = ""

    @property
    def leads_only(self) -> bool:
        return self.step in LEADS_ONLY


def steps_of(studies: list[Study]) -> dict[int, ShownStep]:
    """Return the next step of each study by its primary key."""
    facts = facts_of(studies)
    return {study.pk: shown_step(study, facts[study.pk]) for study in studies}


def shown_step(study: Study, facts: Facts) -> ShownStep:
    step = next_step(facts)
    why, button = _words(step)
    status = Study.Status.OPEN if step == Step.OPEN else ""
    return ShownStep(step, why, button, _address(study, step, facts), status)


@dataclass(frozen=True)
class StepAfterLeaderboard:
    """The next step of a study whose models a leaderboard ranks, as that leaderboard shows it."""

    study: Study
    step: ShownStep


def step_after_leaderboard(benchmark: Benchmark, user: User) -> StepAfterLeaderboard | None:
    """Return what comes next in the newest study that people rated over this benchmark, and that the user may read.

    A study whose own next step is this leaderboard has its answers to download. None without such a study.
    """
    studies = list(
        studies_listed(user)
        .filter(benchmark=benchmark)
        .exclude(status=Study.Status.DRAFT)
        .order_by("-created_at", "-pk")[:STUDIES_LOOKED_AT]
    )
    facts = facts_of(studies)
    for study in studies:
        if facts[study.pk].answered and facts[study.pk].has_leaderboard:
            return StepAfterLeaderboard(study, shown_step(study, replace(facts[study.pk], has_leaderboard=False)))
    return None


def _words(step: Step) -> tuple[str, str]:
    return {
        Step.SET_UP: (gettext("The study is a draft."), gettext("Set up the study")),
        Step.UPLOAD: (gettext("The study has no tasks."), gettext("Upload a table")),
        Step.OPEN: (
            gettext("Ratings are missing, and nobody can rate at the moment."),
            gettext("Open the study again"),
        ),
        Step.INVITE: (gettext("The study is open, and more ratings are needed."), gettext("Invite raters")),
        Step.FIT: (gettext("There are enough ratings to fit the weights."), gettext("Fit the weights")),
        Step.ASK: (gettext("No judge has answered the same questions yet."), gettext("Ask a judge")),
        Step.FOLLOW: (gettext("A judge is at work."), gettext("See the run")),
        Step.CHECK: (
            gettext("A judge has answered, but none of its verdicts can be used."),
            gettext("See why its answers cannot be used"),
        ),
        Step.COMPARE: (gettext("A judge has rated this study."), gettext("Compare the judge with people")),
        Step.LEADERBOARD: (gettext("The results are in."), gettext("See the leaderboard")),
        Step.EXPORT: (gettext("The results are in."), gettext("Download the answers")),
        Step.ESTIMATE: (gettext("The ratings of the draw are in."), gettext("See the estimate of the draw")),
    }[step]


def _address(study: Study, step: Step, facts: Facts) -> str:
    if step in (Step.FOLLOW, Step.CHECK):
        if facts.run:
            return reverse("judging:run", args=[facts.run])
        return reverse("judging:judges", args=[study])
    if step == Step.LEADERBOARD and study.benchmark is not None:
        return reverse("judging:leaderboard", args=[f"{study.workspace.slug}/{study.benchmark.slug}"])
    if step == Step.UPLOAD:
        return reverse("annotation:upload_table")
    name, anchor = {
        Step.SET_UP: ("annotation:setup", ""),
        Step.OPEN: ("annotation:change_status", ""),
        Step.INVITE: ("annotation:cohorts", ""),
        Step.FIT: ("calibration:weights", "#fit-heading"),
        Step.ASK: ("judging:start_run", ""),
        Step.COMPARE: ("judging:judges", ""),
        Step.EXPORT: ("judging:export", ""),
        Step.ESTIMATE: ("judging:routing", ""),
    }[step]
    return reverse(name, args=[full_slug(study)]) + anchor
