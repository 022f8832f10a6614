"""The questions into which criteria are expanded, what people say of them, and the rubric that they become."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.text import slugify

from accounts.models import User
from annotation.authoring.stages import Stage, at_stage, log_step, move_on
from annotation.models import Checklist, Criterion, MergedCriterion, QuestionDraft, QuestionReview, Rubric
from annotation.rubrics.library import keep_rubric
from annotation.rubrics.offered_scales import scale_named
from core.errors import UserError
from core.messages.localized import localized
from core.messages.message import Wording
from generation.models import Category

LONGEST_QUESTION = 1000
LONGEST_KEY = 60
OVERALL_QUESTION = {
    "en": "All things considered, how good is this response, from 0 to 10?",
    "zh-hans": "综合各方面，这篇回答可以打几分（0 到 10）？",
}
UNWRITTEN = Wording(
    "checklist.unwritten", "These criteria have no question yet: %(names)s. Write them before the review."
)
UNKNOWN_QUESTION = Wording(
    "checklist.unknown_question",
    "This question has been changed in the meantime. Read its new version and review that one.",
)
OWN_QUESTION = Wording(
    "checklist.own_question", "You wrote the question about “%(name)s” yourself. Somebody else has to review it."
)
NO_COMMENT = Wording("checklist.no_comment", "Say what should change in the question about “%(name)s”.")
UNREVIEWED = Wording(
    "checklist.unreviewed", "Nobody has called these questions sound yet: %(names)s. Wait for a review of each."
)
OBJECTIONS = Wording(
    "checklist.objections",
    "Reviewers ask for changes of these questions: %(names)s. Change them, or wait until the reviewers change their mind.",
)


@dataclass(frozen=True)
class Wanted:
    """A question that somebody saves; `model` names the model whose draft it began from, '' where there was none."""

    texts: Mapping[str, str]
    model: str = ""
    unchanged: bool = False

    @property
    def source(self) -> str:
        if not self.model:
            return QuestionDraft.Source.TYPED
        return QuestionDraft.Source.MODEL if self.unchanged else QuestionDraft.Source.EDITED


@dataclass(frozen=True)
class CurrentQuestion:
    """A kept criterion, its newest question, and the newest review by each person."""

    criterion: MergedCriterion
    question: QuestionDraft | None
    reviews: tuple[QuestionReview, ...] = ()

    @property
    def sound(self) -> int:
        return sum(review.sound for review in self.reviews)

    @property
    def objections(self) -> list[QuestionReview]:
        return [review for review in self.reviews if not review.sound]


def current_questions(checklist: Checklist) -> list[CurrentQuestion]:
    """The kept criteria, those with the most votes first; three queries."""
    kept = checklist.criteria.filter(kept=True).order_by("-votes", "position", "pk")
    found: list[CurrentQuestion] = []
    for criterion in kept.prefetch_related("questions__reviews__by"):
        versions = sorted(criterion.questions.all(), key=lambda one: one.pk)
        newest = versions[-1] if versions else None
        reviews = tuple(newest.reviews.all()) if newest else ()
        # Of reviews of erased people nobody knows whose they are, so each of them counts for itself.
        by_person = {review.person or -review.pk: review for review in sorted(reviews, key=lambda one: one.pk)}
        found.append(CurrentQuestion(criterion, newest, tuple(by_person.values())))
    return found


def write_questions(checklist: Checklist, wanted: Mapping[int, Wanted], *, by: User) -> int:
    """Store changed questions, by the key of their criterion, as new versions; return their number.

    In the review as well, where a new version has to be reviewed anew. Raises UserError.
    """
    changed = 0
    with at_stage(checklist, Stage.QUESTIONS, Stage.REVIEW) as locked:
        for current in current_questions(locked):
            one = wanted.get(current.criterion.pk)
            if one is None or not one.texts or (current.question and current.question.texts == dict(one.texts)):
                continue
            QuestionDraft.objects.create(
                criterion=current.criterion, texts=dict(one.texts), source=one.source, model=one.model, by=by
            )
            after = {"criterion": current.criterion.name, "question": dict(one.texts), "source": one.source}
            log_step(locked, by, "write_question", after=after | ({"model": one.model} if one.model else {}))
            changed += 1
    return changed


def start_review(checklist: Checklist, *, by: User) -> None:
    """Ask people to review the questions. Raises UserError while a criterion has none."""
    with at_stage(checklist, Stage.QUESTIONS) as locked:
        lacking = [one.criterion.name for one in current_questions(locked) if one.question is None]
        if lacking:
            raise UserError(UNWRITTEN(names=lacking))
        move_on(locked, by, "start_review")


def review(checklist: Checklist, question: int, *, sound: bool, comment: str, by: User) -> None:
    """Store a person's decision on the newest version of a question. Raises UserError."""
    with at_stage(checklist, Stage.REVIEW) as locked:
        newest = {one.question.pk: one for one in current_questions(locked) if one.question}
        if question not in newest:
            raise UserError(UNKNOWN_QUESTION())
        current = newest[question]
        assert current.question is not None
        if sound and wrote(current.question, by):
            raise UserError(OWN_QUESTION(name=current.criterion.name))
        if not sound and not comment:
            raise UserError(NO_COMMENT(name=current.criterion.name))
        QuestionReview.objects.create(question_id=question, by=by, sound=sound, comment=comment)
        log_step(locked, by, "review_question", after={"criterion": current.criterion.name, "sound": sound})


def wrote(question: QuestionDraft, user: User) -> bool:
    """Whether the question's words are this person's; a model's draft that was saved as it is belongs to nobody."""
    return question.by_id == user.pk and question.source != QuestionDraft.Source.MODEL


def finish(checklist: Checklist, *, by: User) -> list[Rubric]:
    """Create the rubric, one for each category, and end the checklist. Raises UserError."""
    with at_stage(checklist, Stage.REVIEW) as locked:
        current = current_questions(locked)
        if objected := [one.criterion.name for one in current if one.objections]:
            raise UserError(OBJECTIONS(names=objected))
        if unread := [one.criterion.name for one in current if not one.sound]:
            raise UserError(UNREVIEWED(names=unread))
        criteria, votes = _criteria(locked, current)
        authored = _authored(locked, votes)
        chosen: list[Category | None] = [*locked.categories.select_related("parent")]
        several = len(chosen) > 1
        made = [_rubric(locked, category, several, criteria, authored) for category in chosen or [None]]
        move_on(locked, by, "finish_checklist", {"rubrics": [str(rubric) for rubric in made]})
    return made


def rubrics_of(checklist: Checklist) -> list[Rubric]:
    """The rubrics that a finished checklist became and that still exist."""
    found = Rubric.objects.filter(workspace=checklist.workspace_id, authored__checklist=checklist.public_id)
    return list(found.select_related("category", "benchmark", "instruction", "study").order_by("key", "version"))


def _criteria(locked: Checklist, current: list[CurrentQuestion]) -> tuple[list[dict[str, object]], dict[str, int]]:
    """The rubric's criteria as fields of Criterion, and the votes that each of them got."""
    taken: set[str] = {"overall"}
    criteria: list[dict[str, object]] = []
    votes: dict[str, int] = {}
    for position, one in enumerate(current):
        assert one.question is not None
        stem = slugify(one.criterion.name)[:LONGEST_KEY].replace("-", "_") or f"question{position + 1}"
        key = stem if stem not in taken else f"{stem}_{position + 1}"
        taken.add(key)
        votes[key] = one.criterion.votes or 0
        criteria.append(
            {
                **scale_named(locked.scale),
                "key": key,
                "questions": dict(one.question.texts),
                "role": Criterion.Role.ITEM.value,
                "position": position,
                "may_not_apply": False,
            }
        )
    if locked.overall:
        criteria.append(
            {
                **scale_named("overall10"),
                "key": "overall",
                "questions": OVERALL_QUESTION,
                "role": Criterion.Role.OVERALL.value,
                "position": len(criteria),
                "may_not_apply": False,
            }
        )
    return criteria, votes


def _authored(locked: Checklist, votes: dict[str, int]) -> dict[str, object]:
    return {
        "checklist": locked.public_id,
        "name": dict(locked.names),
        "proposals": locked.proposals.filter(withdrawn_at=None).count(),
        "merged": locked.criteria.count(),
        "ballots": locked.ballots.count(),
        "votes_each": locked.votes_each,
        "votes": votes,
        "reason": locked.choice_reason,
    }


def _rubric(
    locked: Checklist,
    category: Category | None,
    several: bool,
    criteria: list[dict[str, object]],
    authored: dict[str, object],
) -> Rubric:
    """Every checklist has rubrics of its own: their keys have its public id."""
    stem = slugify(locked.names.get("en", ""))[:80] or "checklist"
    key = f"{stem}-{locked.public_id[:8].lower()}" + (f"-{category.pk}" if category else "")
    names = dict(locked.names)
    if several and category is not None:
        names = {
            language: f"{name} · {localized(category.names, language) or category.key}"
            for language, name in names.items()
        }
    keep_rubric(locked.workspace, locked.benchmark, category, key=key, names=names, criteria=criteria)
    rubric = Rubric.objects.filter(workspace=locked.workspace_id, key=key).order_by("-version")[0]
    rubric.authored = authored
    rubric.save(update_fields=["authored"])
    return rubric
