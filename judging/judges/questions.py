"""Questions about stored tasks: all that a judge may see. They never contain the name of a model."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from annotation.models import Criterion, Rubric, Study, Task
from generation.llm.protocol.wrapping import NothingToWrap, chat_of
from generation.models import Instruction, Response
from judging.methods.guided import GuidedQuestion
from judging.methods.prompts import Item, Level
from judging.methods.registry import METHODS
from judging.methods.scales import Anchor, range_levels
from judging.methods.spec import MethodSpec
from judging.models import Judge

PAIR = "pair"
REFERENCE_FROM = "reference_from"
"""The parameter of a judge that names the model whose responses are its references; it is not sent to any server."""


def items_of(rubric: Rubric, role: str = Criterion.Role.ITEM) -> tuple[Item, ...]:
    """Return the items that a judge answers: the rubric's criteria of one role, in English, by position.

    Raises WrongScale if a range has no list of steps.
    """
    criteria = [criterion for criterion in rubric.criteria.all() if criterion.role == role]
    return tuple(item_of(criterion) for criterion in sorted(criteria, key=lambda c: c.position))


def item_of(criterion: Criterion) -> Item:
    """Return a criterion as judges are asked it; a range becomes the levels of its steps, which are 1 by default."""
    if criterion.levels:
        levels = tuple(
            Level(float(level["value"]), english(level.get("label")), english(level.get("description")))
            for level in sorted(criterion.levels, key=lambda level: float(level["value"]))
        )
    else:
        low, high = criterion.ends
        anchors = tuple(
            Anchor(float(one["from"]), float(one["to"]), english(one.get("description"))) for one in criterion.anchors
        )
        levels = range_levels(low, high, criterion.step or 1.0, anchors)
    return Item(criterion.key, english(criterion.questions) or criterion.key, levels)


def english(texts: Mapping[str, str] | None) -> str:
    """Return the English text, or the first one: prompts are in English whatever the language of the page."""
    texts = texts or {}
    return texts.get("en") or next((text for text in texts.values() if text), "")


class Questions:
    """The questions of one method about a study's tasks; rubrics and the guideline are read once.

    With `reference_from`, the responses of this model stand for the human references.
    """

    def __init__(self, method: str, study: Study, reference_from: str = "") -> None:
        self.method, self.study, self.reference_from = method, study, reference_from
        self.needs: MethodSpec = METHODS[method]
        self.experiment = study.experiment
        self.guideline = english(study.guideline.texts) if study.guideline else ""
        self._rubrics: dict[int, Rubric] = {}
        self._items: dict[tuple[int, str], tuple[Item, ...]] = {}
        self._nearest: dict[int, tuple[Item, ...]] = {}
        self._references: dict[int, str] = {}

    @classmethod
    def of(cls, judge: Judge, study: Study) -> "Questions":
        """Return the questions of a judge, with the references that it is given."""
        return cls(judge.method, study, reference_model_of(judge))

    def learn(self, tasks: Iterable[Task]) -> None:
        """Read those rubrics and references of these tasks that are not known yet, in two queries each."""
        tasks = list(tasks)
        if self.reference_from:
            self._read_references({task.response_a.instruction_id for task in tasks if task.response_a_id})
        wanted = {pk for task in tasks for pk in (task.answer_rubric_id, task.guide_rubric_id) if pk}
        missing = wanted - set(self._rubrics)
        if missing:
            found = Rubric.objects.filter(pk__in=missing).prefetch_related("criteria")
            self._rubrics.update({rubric.pk: rubric for rubric in found})

    def _read_references(self, instructions: set[int]) -> None:
        missing = instructions - set(self._references)
        found = references_from(self.study, self.reference_from).filter(instruction__in=missing).order_by("-pk")
        self._references |= dict.fromkeys(missing, "")
        self._references |= {pk: text or "" for pk, text in found.values_list("instruction_id", "text")}

    def _reference(self, instruction: Instruction) -> str:
        if not self.reference_from:
            return instruction.reference
        self._read_references({instruction.pk})
        return self._references[instruction.pk]

    def rubric(self, pk: int) -> Rubric:
        if pk not in self._rubrics:
            self._rubrics[pk] = Rubric.objects.prefetch_related("criteria").get(pk=pk)
        return self._rubrics[pk]

    def items(self, rubric_id: int, role: str = "") -> tuple[Item, ...]:
        """Return the items that the method answers in a rubric, or those of another role."""
        key = rubric_id, role or self.needs.role
        if key not in self._items:
            self._items[key] = items_of(self.rubric(rubric_id), key[1])
        return self._items[key]

    def answered(self, task: Task) -> tuple[Item, ...]:
        return self.items(task.answer_rubric_id)

    def about(self, task: Task) -> GuidedQuestion:
        """Return the question about a task, with its texts in the order A, B, which may be ''; of a part, only its
        text.
        """
        instruction = task.response_a.instruction
        responses = [part_of(task.response_a.text or "", task.part)]
        if task.kind == Task.Kind.PAIR and task.response_b is not None:
            responses.append(task.response_b.text or "")
        return GuidedQuestion(
            conversation=self._conversation(instruction),
            responses=tuple(responses),
            items=self.answered(task),
            hint=instruction.hint,
            reference=self._reference(instruction),
            guideline=self.guideline,
            guides=self._guides(task),
        )

    def _conversation(self, instruction: Instruction) -> tuple[tuple[str, str], ...]:
        """Return what the models were asked, with the length that the study's experiment requests."""
        plain = instruction.messages or []
        try:
            asked = chat_of(
                plain, self.experiment, language=instruction.language, of_instruction=instruction.words_asked
            )
        except NothingToWrap:
            return conversation_of(plain)
        return conversation_of(asked)

    def _guides(self, task: Task) -> tuple[Item, ...]:
        """Return the guiding checklist: the task's own, the rubric's items, or those of the instruction's nearest
        rubric.
        """
        if task.guide_rubric_id:
            return self.items(task.guide_rubric_id, Criterion.Role.ITEM)
        if "guides" not in self.needs.parts:
            return ()
        own = self.items(task.answer_rubric_id, Criterion.Role.ITEM)
        if own:
            return own
        instruction = task.response_a.instruction
        if instruction.pk not in self._nearest:
            nearest = Rubric.objects.nearest_to(instruction)
            self._nearest[instruction.pk] = items_of(nearest) if nearest else ()
        return self._nearest[instruction.pk]

    def placeholder(self, rubric_id: int) -> GuidedQuestion:
        """Return a question of the same form with stand-ins for all texts, to try a prompt and a rubric."""
        count = 2 if self.needs.task_kind == PAIR else 1
        items = self.items(rubric_id)
        return GuidedQuestion(
            (("user", "x"),),
            ("x", "y")[:count],
            items,
            hint="x",
            reference="x",
            guideline="x",
            guides=items or (Item("x", "x", (Level(0.0, "x"),)),),
        )


def reference_model_of(judge: Judge) -> str:
    """Return the name of the model whose responses are the judge's references; '' where a person wrote them."""
    return str(judge.parameters.get(REFERENCE_FROM, ""))


def references_from(study: Study, model: str) -> QuerySet[Response]:
    """Return the texts of a model that can stand for references, in any experiment."""
    written = Response.objects.filter(model__workspace=study.workspace_id, model__name=model)
    return written.filter(kind=Response.Kind.RESPONSE, text__isnull=False).exclude(text="")


def conversation_of(messages: Sequence[Mapping[str, object]] | None) -> tuple[tuple[str, str], ...]:
    return tuple((str(one.get("role", "user")), str(one["content"])) for one in messages or [])


def part_of(text: str, part: Mapping[str, Any] | None) -> str:
    """Return the text of a sub-task by its offsets in code points; the whole text if there is no part."""
    if not part or "start" not in part or "end" not in part:
        return text
    return text[int(part["start"]) : int(part["end"])]
