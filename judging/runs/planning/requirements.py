"""What a method needs, checked before a run is estimated: in how many of its tasks it is missing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from django.db.models import Q, QuerySet

from annotation.models import Criterion, Rubric, Study, Task
from core.errors import UserError
from core.messages.message import Message, Wording
from generation.endpoints.clients import served_name
from generation.models import Endpoint, Instruction, LanguageModel, Response
from judging.judges.questions import english, reference_model_of, references_from
from judging.methods.pairs import composite
from judging.methods.registry import METHODS
from judging.methods.spec import Transport
from judging.models import Judge, JudgeRun
from judging.runs.runs_without_calls import choices_for

INSTRUCTION = "response_a__instruction"
OF_RESPONSE = "instruction"
EVERY = ~Q(pk__in=[])


COMPOSITE_TOO_FEW = Wording(
    "method.composite_too_few",
    "Method composite chooses among verdicts by how they agree with people, and there are too few here: "
    "%(why)s Ask other judges about these pairs and let people rate them first.",
)


class MethodLacks(UserError):
    """No task has what the method needs; the sentence says what is missing, in how many tasks, and what to do."""


@dataclass(frozen=True)
class Lack:
    """`missing` of a run's `tasks` lack what the method needs; `need` names it."""

    need: str
    method: str
    missing: int
    tasks: int

    @property
    def refusal(self) -> Message:
        return REFUSALS[self.need](method=self.method, missing=self.missing, tasks=self.tasks)

    @property
    def warning(self) -> Message:
        return WARNINGS[self.need](method=self.method, missing=self.missing, tasks=self.tasks)


NEEDS_REFERENCE = Wording(
    "method.needs_reference",
    "Method %(method)s compares with a human reference, which is missing in %(missing)s of %(tasks)s tasks; load "
    "instructions with references, or choose another method.",
)
NEEDS_HINT = Wording(
    "method.needs_hint",
    "Method %(method)s needs an instruction's hint, which is missing in %(missing)s of %(tasks)s tasks; load "
    "instructions with hints, or choose another method.",
)
NEEDS_GUIDELINE = Wording(
    "method.needs_guideline",
    "Method %(method)s needs the study's guideline, which is missing for %(missing)s of %(tasks)s tasks; give the "
    "study a guideline, or choose another method.",
)
NEEDS_CHECKLIST = Wording(
    "method.needs_checklist",
    "Method %(method)s is guided by a checklist, which is missing in %(missing)s of %(tasks)s tasks; give the "
    "benchmark a rubric with items, or choose another method.",
)
NEEDS_LOG_PROBABILITIES = Wording(
    "method.needs_log_probabilities",
    "Method %(method)s asks the models that wrote the responses for log-probabilities, and in %(missing)s of "
    "%(tasks)s tasks one of them has no endpoint that gives any; serve these models with vLLM and add the endpoint, "
    "or choose another method.",
)
NEEDS_EMBEDDINGS = Wording(
    "method.needs_embeddings",
    "Method %(method)s needs an endpoint that gives embeddings, which this judge's endpoint did not when it was "
    "tested, so that %(missing)s of %(tasks)s tasks cannot be judged; choose a judge with an embedding model, or "
    "test the endpoint again.",
)
WITHOUT_REFERENCE = Wording(
    "method.without_reference",
    "%(missing)s of %(tasks)s tasks have no human reference, which method %(method)s compares with; they are left out "
    "and count as unscored.",
)
WITHOUT_HINT = Wording(
    "method.without_hint",
    "%(missing)s of %(tasks)s tasks have no hint, which method %(method)s needs; they are left out and count as "
    "unscored.",
)
WITHOUT_CHECKLIST = Wording(
    "method.without_checklist",
    "%(missing)s of %(tasks)s tasks have no checklist, by which method %(method)s is guided; they are left out and "
    "count as unscored.",
)
WITHOUT_LOG_PROBABILITIES = Wording(
    "method.without_log_probabilities",
    "In %(missing)s of %(tasks)s tasks a model that wrote a response has no endpoint that gives log-probabilities, "
    "which method %(method)s needs; they are left out and count as unscored.",
)
REFUSALS: Mapping[str, Wording] = {
    "reference": NEEDS_REFERENCE,
    "hint": NEEDS_HINT,
    "guideline": NEEDS_GUIDELINE,
    "guides": NEEDS_CHECKLIST,
    "served": NEEDS_LOG_PROBABILITIES,
    "embeddings": NEEDS_EMBEDDINGS,
}
WARNINGS: Mapping[str, Wording] = {
    "reference": WITHOUT_REFERENCE,
    "hint": WITHOUT_HINT,
    "guideline": NEEDS_GUIDELINE,
    "guides": WITHOUT_CHECKLIST,
    "served": WITHOUT_LOG_PROBABILITIES,
    "embeddings": NEEDS_EMBEDDINGS,
}


def check_requirements(
    jurors: Sequence[Judge],
    study: Study,
    tasks: QuerySet[Task],
    *,
    unmade: QuerySet[Response] | None = None,
    rubrics: Iterable[int] = (),
    seed: int = 0,
) -> list[Lack]:
    """Return what some of these tasks lack, for each judge; a benchmark's `unmade` tasks are its responses.

    `rubrics` are those of the unmade tasks. Raises MethodLacks if no task can be asked about.
    """
    found: dict[tuple[str, str], Lack] = {}
    for judge in jurors:
        for lack in _lacks(judge, study, tasks, unmade, set(rubrics), seed):
            found[lack.need, lack.method] = lack
    return list(found.values())


def note_lacks(run: JudgeRun, lacks: Sequence[Lack]) -> None:
    """Store with the run what some of its tasks lack, for its page."""
    if lacks:
        run.manifest = {**run.manifest, "lacks": [asdict(lack) for lack in lacks]}
        run.save(update_fields=["manifest"])


def noted_lacks(run: JudgeRun) -> list[Lack]:
    return [Lack(**lack) for lack in run.manifest.get("lacks", [])]


def lacking(judge: Judge, study: Study, tasks: QuerySet[Task]) -> QuerySet[Task]:
    """Return the tasks about which the judge's method cannot be asked."""
    missing = Q(pk__in=[])
    for condition in _conditions(judge, study, tasks, INSTRUCTION).values():
        missing |= condition
    return tasks.filter(missing)


def _lacks(
    judge: Judge, study: Study, tasks: QuerySet[Task], unmade: QuerySet[Response] | None, rubrics: set[int], seed: int
) -> list[Lack]:
    if judge.method == composite.KEY:
        _check_choice(judge, study, seed)
        return []
    conditions = _conditions(judge, study, tasks, INSTRUCTION)
    if not conditions:
        return []
    total, none = tasks.count(), Q(pk__in=[])
    missing = {need: tasks.filter(condition).count() for need, condition in conditions.items()}
    for condition in conditions.values():
        none |= condition
    without = tasks.filter(none).count()
    if unmade is not None and (others := unmade.count()):
        total += others
        ones = {need: unmade.filter(one).count() for need, one in _of_responses(judge, study, rubrics).items()}
        missing = {need: n + ones.get(need, 0) for need, n in missing.items()}
        without += max(ones.values(), default=0)
    found = [Lack(need, judge.method, n, total) for need, n in missing.items() if n]
    if found and without >= total:
        raise MethodLacks(max(found, key=lambda lack: lack.missing).refusal)
    return found


def _conditions(judge: Judge, study: Study, tasks: QuerySet[Task], instruction: str) -> dict[str, Q]:
    """Return, by need, the tasks that lack it."""
    needs = METHODS[judge.method]
    found: dict[str, Q] = {}
    for part in needs.parts:
        if part == "guides":
            found[part] = _without_checklist(tasks)
        elif part == "reference" and (model := reference_model_of(judge)):
            found[part] = ~Q(**{f"{instruction}__in": references_from(study, model).values("instruction")})
        elif part == "guideline":
            found |= {} if _guideline_of(study) else {part: EVERY}
        else:
            found[part] = Q(**{f"{instruction}__{part}": ""})
    if needs.transport == Transport.LOG_PROBABILITIES:
        found["served"] = _without_writer(study)
    elif needs.transport == Transport.EMBEDDINGS and _known_without(judge.language_model, "embeddings"):
        found["embeddings"] = EVERY
    return found


def _of_responses(judge: Judge, study: Study, rubrics: set[int]) -> dict[str, Q]:
    """Return, by need, the single responses without tasks that lack it."""
    found = {
        part: Q(**{f"{OF_RESPONSE}__{part}": ""})
        for part in METHODS[judge.method].parts
        if part in ("reference", "hint")
    }
    if "reference" in found and (model := reference_model_of(judge)):
        found["reference"] = ~Q(**{f"{OF_RESPONSE}__in": references_from(study, model).values("instruction")})
    if "guides" in METHODS[judge.method].parts and not rubrics & _with_items(rubrics):
        found["guides"] = EVERY
    return found


def _guideline_of(study: Study) -> str:
    return english(study.guideline.texts) if study.guideline else ""


def _with_items(rubrics: Iterable[int]) -> set[int]:
    items = Criterion.objects.filter(rubric__in=set(rubrics), role=Criterion.Role.ITEM).order_by()
    return set(items.values_list("rubric_id", flat=True).distinct())


def _without_checklist(tasks: QuerySet[Task]) -> Q:
    """Return the tasks without a guiding checklist: their own, their rubric's items, or the nearest rubric's."""
    used = set(tasks.order_by().values_list("guide_rubric_id", "answer_rubric_id").distinct())
    checklists = _with_items({pk for pair in used for pk in pair if pk})
    bare = tasks.filter(guide_rubric=None).exclude(answer_rubric__in=checklists)
    wanted = Instruction.objects.filter(pk__in=bare.order_by().values("response_a__instruction"))
    without = []
    for instruction in wanted.select_related("category__parent", "benchmark"):
        nearest = Rubric.objects.nearest_to(instruction)
        if nearest is None or nearest.pk not in _with_items([nearest.pk]):
            without.append(instruction.pk)
    own = Q(guide_rubric__isnull=False) & ~Q(guide_rubric__in=checklists)
    nearest_lacks = Q(guide_rubric=None, response_a__instruction__in=without) & ~Q(answer_rubric__in=checklists)
    return own | nearest_lacks


def _without_writer(study: Study) -> Q:
    """Return the tasks with a writer without an endpoint, or whose endpoint gives no log-probabilities of a prompt."""
    models = LanguageModel.objects.filter(workspace=study.workspace_id).select_related("endpoint")
    without = [
        model.pk
        for model in models
        if model.endpoint is None
        or model.endpoint.kind == Endpoint.Kind.SCRIPTED
        or _known_without(model, "prompt_log_probabilities")
    ]
    sides = (f"response_{side}__model" for side in "ab")
    found = Q()
    for side in sides:
        found |= Q(**{f"{side}__isnull": True}) | Q(**{f"{side}__in": without})
    return found


def _known_without(model: LanguageModel | None, capability: str) -> bool:
    """Whether the endpoint was tested with this model and lacks the feature."""
    endpoint = model.endpoint if model else None
    if model is None or endpoint is None or endpoint.probed_at is None:
        return False
    told = endpoint.capabilities
    return told.get("model") == served_name(model) and told.get(capability) is False


def _check_choice(judge: Judge, study: Study, seed: int) -> None:
    """Raise MethodLacks if people and judges have given too few verdicts to choose a method."""
    try:
        choices_for(judge, study, seed=seed)
    except composite.TooFewTasks as error:
        said = str(error)
        raise MethodLacks(COMPOSITE_TOO_FEW(why=said)) from error
