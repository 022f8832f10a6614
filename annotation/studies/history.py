"""Describe the event log of a study: who did what, to what, and what changed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import Event
from annotation.models import Cohort, Rater, Study, Task

LONGEST_VALUE = 160


@dataclass(frozen=True)
class FieldChange:
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class EventLine:
    """One event; `about` names the cohort, rater or task if the event is not about the study itself."""

    at: datetime
    actor: str
    what: str
    about: str
    changes: list[FieldChange]


def verb_words() -> dict[str, str]:
    return {
        "create_study": _("created the study"),
        "duplicate_study": _("made it as a copy of another study"),
        "archive_study": _("archived the study"),
        "restore_study": _("took the study out of the archive"),
        "change_study": _("changed the study"),
        "change_guideline": _("changed the guideline"),
        "change_rubric": _("changed the questions"),
        "change_questionnaire": _("changed the questionnaire for raters"),
        "launch_study": _("launched the study"),
        "study_opened": _("prepared the tasks and opened the study"),
        "open_study": _("opened the study"),
        "paused_study": _("paused the study"),
        "closed_study": _("closed the study"),
        "add_overlap": _("requested more ratings of tasks"),
        "release_task": _("released a task from its raters"),
        "release_rater": _("released a rater's open tasks"),
        "adjudicate": _("resolved a disagreement"),
        "mark_known_answer": _("marked a task with a known answer"),
        "make_controls": _("created attention checks"),
        "unmark_known_answer": _("removed a task's known answer"),
        "resolve_flag": _("resolved a note"),
        "set_task_aside": _("removed a task that no one could rate"),
        "drop_task": _("removed a task from the study"),
        "mask_response": _("changed how self-revealing responses are handled"),
        "freeze_draw": _("drew instructions for people to rate"),
        "make_cohort": _("created a cohort"),
        "revoke_link": _("revoked a cohort's link"),
        "renew_link": _("created a new link for a cohort"),
        "change_join_limit": _("changed the limit on joining from one network"),
        "change_codes": _("changed a cohort's completion codes"),
        "change_platform_workspace": _("changed the workspace whose signed links a cohort accepts"),
        "go_on": _("a participant continued in another browser or submission"),
        "admit_browser": _("allowed another browser to continue as a rater"),
        "refuse_browser": _("refused another browser"),
        "not_qualified": _("a rater did not pass the qualification"),
        "make_accounts": _("created accounts for a cohort"),
        "pause_rater": _("paused a rater"),
        "change_pay": _("changed the pay of a cohort"),
        "change_bonus_cap": _("changed the cap on bonuses"),
        "prepare_bonuses": _("set up a list of bonuses at Prolific"),
        "confirm_bonuses": _("confirmed a list of bonuses"),
        "bonuses_sent": _("a list of bonuses was sent"),
        "bonuses_refused": _("Prolific refused a list of bonuses, and nothing was sent"),
        "bonuses_uncertain": _("nobody knows whether a list of bonuses was sent"),
        "drop_bonuses": _("dropped a list of bonuses before it was sent"),
        "settle_bonuses": _("settled an uncertain list of bonuses"),
        "resume_rater": _("resumed a rater"),
        "message_rater": _("wrote to a rater"),
        "confirm_message": _("a rater confirmed a message"),
        "exclude_answers": _("excluded a rater's answers from results"),
        "lift_exclusion": _("lifted the exclusion of a rater's answers"),
        "erase_identity": _("erased a rater's identity"),
        "erase_person": _("erased all personal data of a rater"),
        "export_own_data": _("downloaded their own data"),
        "read_identities": _("opened the list of raters with their identities"),
        "export_study": _("downloaded an export"),
        "export_answers": _("downloaded the answers"),
        "loaded": _("imported data"),
        "fit refused": _("a fit of weights was refused"),
    }


def events_of(study: Study) -> QuerySet[Event]:
    """Logged events of the study, its cohorts, raters and tasks, latest first."""
    cohorts = [str(pk) for pk in Cohort.objects.filter(study=study).values_list("pk", flat=True)]
    return (
        Event.objects.filter(workspace=study.workspace_id)
        .filter(
            Q(object_type="study", object_id=study.public_id)
            | Q(object_type="cohort", object_id__in=cohorts)
            # One look-up an event: a study has far more tasks than events about them.
            | Q(Exists(Rater.objects.filter(public_id=OuterRef("object_id"), study=study)), object_type="rater")
            | Q(Exists(Task.objects.filter(public_id=OuterRef("object_id"), study=study)), object_type="task")
        )
        .select_related("actor")
        .order_by("-at", "-id")
    )


def event_lines(study: Study, events: list[Event]) -> list[EventLine]:
    """Describe the events of one page; at most two queries for the names of their objects."""
    words = verb_words()
    raters = {one.object_id for one in events if one.object_type == "rater"}
    cohorts = {int(one.object_id) for one in events if one.object_type == "cohort"}
    names: dict[tuple[str, str], str] = {}
    if raters:
        names |= {("rater", one.public_id): one.name for one in Rater.objects.filter(study=study, public_id__in=raters)}
    if cohorts:
        names |= {("cohort", str(one.pk)): one.name for one in Cohort.objects.filter(study=study, pk__in=cohorts)}
    return [
        event_line(
            event,
            words.get(event.verb, event.verb.replace("_", " ")),
            about=names.get((event.object_type, event.object_id), ""),
        )
        for event in events
    ]


def event_line(event: Event, what: str, *, about: str = "") -> EventLine:
    """An event as a line, with `what` happened in the reader's language."""
    actor = str(event.actor) if event.actor else ""
    return EventLine(at=event.at, actor=actor, what=what, about=about, changes=_changes(event))


def _changes(event: Event) -> list[FieldChange]:
    before = event.before if isinstance(event.before, dict) else {}
    after = event.after if isinstance(event.after, dict) else {}
    names = sorted({*before, *after})
    return [FieldChange(name.replace("_", " "), _plain(before.get(name)), _plain(after.get(name))) for name in names]


def _plain(value: Any) -> str:
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, dict):
        text = ", ".join(f"{key}: {_plain(one)}" for key, one in value.items())
    elif isinstance(value, (list, tuple)):
        text = ", ".join(_plain(one) for one in value)
    else:
        text = str(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
