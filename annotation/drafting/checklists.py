"""Checklists of single instructions: models draft questions in an ordinary run, a person reviews them and approves some."""

from collections.abc import Sequence

from django.db import transaction

from accounts.models import Event, User
from annotation.importing.instruction_rubrics import InstructionRubrics
from annotation.rules.drafted_questions import (
    LONGEST_QUESTION,
    MOST_QUESTIONS,
    REQUESTS,
    MergedQuestion,
    merged,
    questions_in,
)
from core.errors import UserError
from core.messages.message import Wording
from core.text import storable
from generation.curation.questions import answers_about, ask_about
from generation.models import Benchmark, Instruction

DRAFTS = "checklists"
"""What stands behind the name of the benchmark whose questions ask models for drafts."""
APPROVED = "checklist approved"
OBJECT = "generation.Instruction"

NO_QUESTIONS = Wording("checklist.none", "Keep at least one question.")
MANY_QUESTIONS = Wording("checklist.many", "There are %(n)s questions; keep at most %(most)s.")
LONG_QUESTION = Wording("checklist.long", "Question %(n)s is longer than %(most)s characters; shorten it.")


def ask_for_drafts(benchmark: Benchmark, *, by: User | None = None) -> Benchmark:
    """Make or complete the benchmark that asks models for questions about each instruction. Raises UserError."""
    names = {"en": f"{benchmark.slug}: checklists", "zh-hans": f"{benchmark.slug}：清单"}
    return ask_about(benchmark, DRAFTS, REQUESTS, names=names, by=by)


def drafted(benchmark: Benchmark, instruction: str = "") -> dict[str, list[MergedQuestion]]:
    """The merged drafts by the instruction's name, of all instructions or of one.

    Of each model the newest reply that has a question counts, and models are merged in the order of their names, so that the
    same replies give the same drafts.
    """
    found: dict[str, list[MergedQuestion]] = {}
    for name, replies in answers_about(benchmark, DRAFTS, instruction).items():
        drafts: list[tuple[str, Sequence[str]]] = []
        for model, texts in sorted(replies.items()):
            questions = next((one for text in reversed(texts) if (one := questions_in(text))), [])
            drafts.append((model, questions))
        if any(questions for _model, questions in drafts):
            found[name] = merged(drafts)
    return found


def approve(instruction: Instruction, questions: Sequence[str], *, by: User) -> list[str]:
    """Make these questions the instruction's own checklist, as a new version of its rubric if it has one; log it.

    Criteria of its rubric that are no items, such as an overall score, stay. Returns the questions as stored. Raises
    UserError.
    """
    kept = list(dict.fromkeys(text for one in questions if (text := " ".join(storable(one).split()))))
    if not kept:
        raise UserError(NO_QUESTIONS())
    if len(kept) > MOST_QUESTIONS:
        raise UserError(MANY_QUESTIONS(n=len(kept), most=MOST_QUESTIONS))
    for number, text in enumerate(kept, start=1):
        if len(text) > LONGEST_QUESTION:
            raise UserError(LONG_QUESTION(n=number, most=LONGEST_QUESTION))
    with transaction.atomic():
        Instruction.objects.select_for_update().get(pk=instruction.pk)
        InstructionRubrics(instruction.benchmark).replace_checklist(instruction, kept)
        Event.objects.create(
            workspace_id=instruction.benchmark.workspace_id,
            actor=by,
            verb=APPROVED,
            object_type=OBJECT,
            object_id=instruction.public_id,
            after={"questions": kept, "benchmark": instruction.benchmark.slug},
        )
    return kept


def own_checklist(instruction: Instruction) -> list[str]:
    """The questions of the instruction's own checklist, in order; none where it has no rubric of its own."""
    return InstructionRubrics(instruction.benchmark).checklist_of(instruction)


def approved_in(benchmark: Benchmark) -> set[str]:
    """The public ids of the workspace's instructions whose checklist a person approved."""
    events = Event.objects.filter(workspace=benchmark.workspace_id, object_type=OBJECT, verb=APPROVED)
    return set(events.order_by().values_list("object_id", flat=True))
