"""The event log of a study in words: who did what, to what, and what changed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import Event
from annotation.models import Cohort, Rater, Study

LONGEST_VALUE = 160


@dataclass(frozen=True)
class FieldChange:
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class EventLine:
    """One event; `about` names the cohort, rater or task where it was not the study itself."""

    at: datetime
    actor: str
    what: str
    about: str
    changes: list[FieldChange]


def verb_words() -> dict[str, str]:
    return {
        "create_study": _("made the study"),
        "change_study": _("changed the study"),
        "change_guideline": _("changed the guideline"),
        "change_rubric": _("changed the questions"),
        "launch_study": _("launched the study"),
        "study_opened": _("tasks and places are made; the study is open"),
        "open_study": _("opened the study"),
        "paused_study": _("paused the study"),
        "closed_study": _("closed the study"),
        "add_overlap": _("asked for more answers to tasks"),
        "release_task": _("took a task back from its raters"),
        "release_rater": _("took a rater's open tasks back"),
        "adjudicate": _("decided a disagreement"),
        "mark_known_answer": _("gave a task a known answer"),
        "make_controls": _("made degraded copies as controls"),
        "unmark_known_answer": _("took a task's known answer away"),
        "resolve_flag": _("settled a note"),
        "set_task_aside": _("set a task aside that nobody could rate"),
        "drop_task": _("took a task out of the study"),
        "mask_response": _("masked what a response says of its model"),
        "make_cohort": _("made a cohort"),
        "revoke_link": _("revoked a cohort's link"),
        "renew_link": _("gave a cohort a fresh link"),
        "change_join_limit": _("changed how many an hour may join from one network"),
        "change_codes": _("changed a cohort's completion codes"),
        "change_platform_workspace": _("changed whose signed links a cohort takes"),
        "go_on": _("a participant went on in another browser or submission"),
        "admit_browser": _("let another browser go on as a rater"),
        "refuse_browser": _("refused another browser"),
        "not_qualified": _("a rater did not pass the qualification"),
        "make_accounts": _("made accounts for a cohort"),
        "pause_rater": _("paused a rater"),
        "resume_rater": _("let a rater go on"),
        "erase_identity": _("erased who a rater is"),
        "loaded": _("loaded data"),
        "fit refused": _("a fit of weights was refused"),
    }


def event_lines(study: Study, events: list[Event]) -> list[EventLine]:
    """The events of one page; at most two queries for the names of what they are about."""
    words = verb_words()
    raters = {one.object_id for one in events if one.object_type == "rater"}
    cohorts = {int(one.object_id) for one in events if one.object_type == "cohort"}
    names: dict[tuple[str, str], str] = {}
    if raters:
        names |= {("rater", one.public_id): one.name for one in Rater.objects.filter(study=study, public_id__in=raters)}
    if cohorts:
        names |= {("cohort", str(one.pk)): one.name for one in Cohort.objects.filter(study=study, pk__in=cohorts)}
    return [
        EventLine(
            at=event.at,
            actor=str(event.actor) if event.actor else "",
            what=words.get(event.verb, event.verb.replace("_", " ")),
            about=names.get((event.object_type, event.object_id), ""),
            changes=_changes(event),
        )
        for event in events
    ]


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
