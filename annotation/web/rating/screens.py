"""The contents of a rating page: the panes in order, the criteria, and the verdict of a review."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from annotation.answers.evidence import Quotations
from annotation.models import Assignment, Criterion, Score, Study, Task, latest_scores
from annotation.policies.policies import Policies
from annotation.rubrics.scales import answer_text
from annotation.rules.alignment import TooDifferent, align_sections, is_near_duplicate
from annotation.rules.canonical import compares, mirrored_level
from annotation.rules.self_naming import mask_self_naming
from annotation.texts.rendering import Heading, RenderedText, render_text
from annotation.web.rating.forms import Criteria, Shown, Verdict, is_chosen_by_one_key, level_chosen
from core.db.prepared import EXAMPLE_ID, Prepared
from core.messages.localized import localized
from core.messages.message import stored_text
from generation.models import Response

MOST_SECTIONS_ALIGNED = 120


@dataclass(frozen=True)
class Section:
    """A heading of a pane: its number, and the number of the matching section in the other pane or None."""

    number: int
    heading: Heading
    counterpart: int | None = None


@dataclass(frozen=True)
class Pane:
    """One response on the page; `letter` is a or b in the order shown, independent of the task.

    `aligned` says whether its sections were compared with those of the other response.
    """

    letter: str
    name: str
    text: RenderedText
    sections: tuple[Section, ...]
    aligned: bool = True


@dataclass(frozen=True)
class Screen:
    """A task as its rater sees it; `part` names the sub-task if only this part of a longer response is shown.

    `single`: it asks one question and no reason; `one_key`: the answer to that question is sent when it is chosen.

    Properties that only the page needs are computed when the page asks for them.
    """

    layout: str
    criteria: Criteria
    shown: Shown
    headed: str = field(default="")
    part: str = field(default="")
    single: bool = False
    one_key: bool = False

    @cached_property
    def panes(self) -> tuple[Pane, ...]:
        """The rendered responses in the order shown."""
        return panes_of(self.shown.texts)

    @property
    def pane_names(self) -> tuple[tuple[str, str], ...]:
        return pane_names(len(self.shown.texts))

    @cached_property
    def near_duplicates(self) -> bool:
        """Whether the two responses differ in only a few words."""
        return len(self.shown.texts) == 2 and is_near_duplicate(*self.shown.texts)


def part_shown(task: Task) -> slice:
    """Return the part of a response that a task is about: the whole response or one sub-task."""
    return slice(int(task.part["start"]), int(task.part["end"])) if task.part else slice(None)


def shown_text(response: Response, study: Study) -> str:
    """Return the text of the response, with mentions of its model blacked out if the study says so."""
    text = response.text or ""
    if not Policies.of(study).mask_self_naming:
        return text
    model = response.model
    return mask_self_naming(text, (model.name, model.family) if model else ())


def _order(task: Task, assignment: Assignment) -> bool:
    """Return whether response B stands first: drawn for a pair, and as the judge saw it in a review."""
    first = task.reviews.shown_first if task.reviews is not None else assignment.shown_first
    return task.response_b is not None and first == Assignment.Side.B


def _verdict(criterion: Criterion, score: Score, texts: tuple[str, ...], *, mirrored: bool, begins: int) -> Verdict:
    """Return a judge's answer to its own criterion, in the words of the scale and in the order shown."""
    value = score.value
    answer = answer_text(criterion, value)
    if value is not None and criterion.levels:
        level = level_chosen(criterion, score)
        if mirrored and compares(*criterion.ends):
            level = mirrored_level(criterion.levels, str(level["key"]))
        answer = localized(level.get("label", {})) or str(level["key"])
    elif value is not None and mirrored and compares(*criterion.ends):
        answer = answer_text(criterion, -value)
    quotations = Quotations.stored(score.evidence or [], texts, mirrored=mirrored, begins=begins).quoted()
    return Verdict(answer, stored_text(score, "reason"), quotations)


def _reviewed(assignment: Assignment, texts: tuple[str, ...], *, mirrored: bool, begins: int) -> dict[str, Verdict]:
    verdict = assignment.task.reviews
    if verdict is None:
        return {}
    scores = latest_scores(verdict.scores.select_related("criterion"))
    return {
        score.criterion.key: _verdict(score.criterion, score, texts, mirrored=mirrored, begins=begins)
        for score in scores.values()
    }


def pane_names(count: int) -> tuple[tuple[str, str], ...]:
    """Return the letter and name of each pane of a page with one or two panes."""
    if count == 1:
        return (("a", _("Response")),)
    return (("a", _("Response A")), ("b", _("Response B")))


def _aligned(headings_a: Sequence[str], headings_b: Sequence[str]) -> list[tuple[int | None, int | None]] | None:
    """Return pairs of matching sections, or None if comparing them would take too long."""
    if max(len(headings_a), len(headings_b)) > MOST_SECTIONS_ALIGNED:
        return None
    try:
        return align_sections(headings_a, headings_b)
    except TooDifferent:
        return None


def panes_of(texts: tuple[str, ...]) -> tuple[Pane, ...]:
    """Return the rendered texts with their matched sections."""
    rendered = [render_text(text) for text in texts]
    if len(texts) == 1:
        sections = tuple(Section(number, heading) for number, heading in enumerate(rendered[0].outline))
        ((letter, name),) = pane_names(1)
        return (Pane(letter, name, rendered[0], sections),)
    outlines = [[heading.text for heading in text.outline] for text in rendered]
    pairs = _aligned(*outlines)
    aligned = pairs is not None
    across = ({a: b for a, b in pairs or () if a is not None}, {b: a for a, b in pairs or () if b is not None})
    return tuple(
        Pane(
            letter,
            name,
            text,
            tuple(Section(number, heading, counterparts.get(number)) for number, heading in enumerate(text.outline)),
            aligned,
        )
        for (letter, name), text, counterparts in zip(pane_names(2), rendered, across, strict=True)
    )


_CRITERIA = Prepared(lambda rubric: Criterion.objects.filter(rubric=rubric).order_by("position"), EXAMPLE_ID)
_KNOWN_CRITERIA: dict[Any, Criteria] = {}


def screen_of(assignment: Assignment) -> Screen:
    """Return the screen of an assignment's task; its criteria take one query and the verdict of a review two more."""
    task = assignment.task
    responses = [task.response_a, *([task.response_b] if task.response_b is not None else [])]
    mirrored = _order(task, assignment)
    if mirrored:
        responses.reverse()
    part = part_shown(task)
    texts = tuple(shown_text(response, task.study)[part] for response in responses)
    reviewed = _reviewed(assignment, texts, mirrored=mirrored, begins=part.start or 0)
    criteria = _CRITERIA.kept(Criteria, _KNOWN_CRITERIA, task.answer_rubric_id)
    if task.reviews is not None:
        criteria = Criteria(criterion for criterion in criteria if criterion.key in reviewed)
    shown = Shown(
        paired=task.response_b is not None and task.reviews is None,
        mirrored=mirrored,
        starred=task.study.kind == Study.Kind.STARS,
        reviewed=reviewed,
        texts=texts,
        begins=part.start or 0,
    )
    single = len(criteria) == 1 and not reviewed and is_chosen_by_one_key(criteria[0])
    return Screen(
        layout="pair" if len(texts) == 2 else "single",
        criteria=criteria,
        shown=shown,
        headed=_("Review") if reviewed else "",
        part=f"{task.part.get('mark', '')} {task.part.get('number', '')}".strip() if task.part else "",
        single=single,
        one_key=single and Policies.of(task.study).one_key,
    )
