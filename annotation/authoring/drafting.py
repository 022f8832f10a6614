"""Drafts of questions by a language model: an ordinary generation run with one instruction for each kept criterion."""

import re
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from accounts.models import User
from annotation.authoring.questions import LONGEST_QUESTION, current_questions
from annotation.authoring.stages import Stage, at_stage, log_step
from annotation.models import Checklist, MergedCriterion
from core.clock import Clock
from core.errors import UserError
from core.messages.localized import localized
from core.messages.message import Wording
from core.text import storable
from generation.library.search import note_texts
from generation.llm.protocol.prices import Ceiling
from generation.models import Benchmark, GenerationRun, Instruction, LanguageModel, Response
from generation.responses.plan import GenerationRequest, plan_generation
from generation.responses.runs import GENERATION

MOST_TOKENS = 2_000
BEGINNING = "criterion-"
STILL_DRAFTING = Wording(
    "checklist.still_drafting",
    "A model is still drafting questions. Wait for its run to finish, or cancel the run first.",
)
OTHER_MODEL = Wording(
    "checklist.other_model",
    "The model “%(name)s” is not served by an endpoint of this workspace. Choose another model.",
)
PROMPT = """\
Raters read one response of a language model at a time and answer the questions of a checklist about it. {about}

Expand the criterion below into one question for that checklist.
- It can be answered with yes or no by somebody who sees only the instruction and the response.
- It names what the rater has to look at, and what the response must do for a yes.
- It says what is enough for a no, so that two raters who read carefully give the same answer.
- It has at most 120 words and is written in the language of the criterion.

Criterion: {name}
What it means: {explanation}

Reply with the question alone."""
_CHINESE = re.compile("[㐀-鿿]")


@dataclass(frozen=True)
class DraftedQuestion:
    """What a model wrote for a criterion, by language."""

    texts: dict[str, str]
    model: str


def drafting_models(checklist: Checklist) -> QuerySet[LanguageModel]:
    """The models of the workspace that an endpoint serves."""
    served = LanguageModel.objects.filter(workspace=checklist.workspace_id, endpoint__isnull=False)
    return served.select_related("endpoint").order_by("name")


def draft_questions(
    checklist: Checklist, model: LanguageModel, budget: Ceiling, *, by: User, clock: Clock = timezone.now
) -> GenerationRun:
    """Start a run in which the model drafts the questions of all kept criteria.

    Raises UserError, NoEndpoint if the model's endpoint cannot be used.
    """
    with at_stage(checklist, Stage.QUESTIONS) as locked:
        if not drafting_models(locked).filter(pk=model.pk).exists():
            raise UserError(OTHER_MODEL(name=model.name))
        if locked.drafting_run and is_drafting(locked.drafting_run):
            raise UserError(STILL_DRAFTING())
        benchmark = _benchmark(locked)
        instructions = [_instruction(locked, benchmark, one.criterion) for one in current_questions(locked)]
        note_texts(instructions)
        request = GenerationRequest(
            benchmark, [model], parameters={"temperature": 0.0, "max_tokens": MOST_TOKENS}, budget=budget, user=by
        )
        run = plan_generation(request)
        GENERATION.start(run, clock=clock, user=by)
        GENERATION.hand_over(run)
        locked.drafting_run = run
        locked.save(update_fields=["drafting_run"])
        log_step(locked, by, "draft_questions", after={"run": run.public_id, "model": model.name})
    return run


def is_drafting(run: GenerationRun) -> bool:
    status = GenerationRun.Status
    return run.status in (status.PLANNED, status.RUNNING, status.PAUSED)


def drafts_of(checklist: Checklist) -> dict[int, DraftedQuestion]:
    """What the latest drafting run has written so far, by criterion."""
    if checklist.drafting_run_id is None:
        return {}
    found: dict[int, DraftedQuestion] = {}
    responses = Response.objects.filter(run=checklist.drafting_run_id, text__isnull=False)
    for response in responses.select_related("instruction", "model").order_by("pk"):
        number = response.instruction.external_id.removeprefix(BEGINNING)
        texts = _question_in(response.text or "")
        if number.isdecimal() and texts and response.model:
            found[int(number)] = DraftedQuestion(texts, response.model.name)
    return found


def _question_in(reply: str) -> dict[str, str]:
    """The reply as one line, without quotation marks or emphasis around it, under its language."""
    text = " ".join(storable(reply).split()).strip('*_`"“”').strip()[:LONGEST_QUESTION].strip()
    return {"zh-hans" if _CHINESE.search(text) else "en": text} if text else {}


def _benchmark(locked: Checklist) -> Benchmark:
    """The benchmark that holds the checklist's own instructions, beside those that are evaluated."""
    names = {language: f"{_OF_DRAFTS.get(language, _OF_DRAFTS['en'])}{name}" for language, name in locked.names.items()}
    slug = f"questions-{slugify(locked.public_id)}"
    return Benchmark.objects.get_or_create(workspace=locked.workspace, slug=slug, defaults={"names": names})[0]


def _instruction(locked: Checklist, benchmark: Benchmark, criterion: MergedCriterion) -> Instruction:
    prompt = PROMPT.format(about=_about(locked), name=criterion.name, explanation=criterion.explanation)
    return Instruction.objects.get_or_create(
        benchmark=benchmark,
        external_id=f"{BEGINNING}{criterion.pk}",
        defaults={"messages": [{"role": "user", "content": prompt}]},
    )[0]


def _about(locked: Checklist) -> str:
    kinds = [localized(category.names, "en") or category.key for category in locked.categories.all()]
    if kinds:
        return f"The checklist is for instructions of the kind: {', '.join(kinds)}."
    if locked.benchmark:
        return f"The checklist is for the instructions of the benchmark {localized(locked.benchmark.names, 'en')}."
    return "The checklist is for instructions of many kinds."


_OF_DRAFTS = {"en": "Drafts of questions: ", "zh-hans": "问题草稿："}
