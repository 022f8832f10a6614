"""The freezing, at launch, of the question whose answer says when labelling may stop, and of the order of instructions."""

from collections.abc import Collection
from dataclasses import dataclass
from random import Random

from annotation.models import Criterion, StoppingQuestion, Study, Task
from annotation.policies.policies import Policies
from annotation.policies.stopping import AGREEMENT, BETTER, LEADER, TOP_THREE, WEIGHTS, StoppingRule
from core.errors import UserError
from core.messages.message import Wording
from generation.library.prompts import prompts_of

NO_COMMON_INSTRUCTION = Wording(
    "study.no_common_instruction",
    "The question of when to stop compares models on instructions that all of them answered, and there is "
    "none. Choose other models, or launch without the question.",
)
AGREEMENT_OF_ONE = Wording(
    "study.agreement_of_one",
    "Agreement cannot be measured with one rating per task. Ask for at least two, or for another question.",
)
NO_MODELS_IN_REVIEW = Wording(
    "study.review_compares_no_models",
    "A study of reviews compares no models. Choose agreement as the question of when to stop, or none.",
)
NO_WEIGHTS_TO_FIT = Wording(
    "study.no_weights_to_fit",
    "Weights are fitted where all tasks have the same checklist items and an overall score. Choose such a "
    "rubric, or another question of when to stop.",
)
TOO_FEW_MODELS = Wording(
    "study.too_few_models_to_stop",
    "The question of when to stop compares at least %(needed)s models, and the study has %(n)s. Choose more "
    "models, or launch without the question.",
)


class StoppingRefused(UserError):
    """The study cannot answer the question; the message says why and what to do."""


@dataclass(frozen=True)
class _RatedTask:
    pk: int
    instruction: int
    rubric: int
    models: tuple[int, ...]


def stated_question(study: Study, *, keys: Collection[str]) -> StoppingQuestion | None:
    """The question that the draft states, with the order drawn by the study's seed over tasks with these keys; not saved.

    The tasks must exist. None if the study states no question. Raises StoppingRefused.
    """
    policies = Policies.of(study).checked("stopping", "overlap")
    rule = policies.stopping
    if rule is None:
        return None
    tasks = _tasks_of(study, {*keys} - {*policies.dropped})
    roles = _roles(tasks)
    _check(study, rule, policies.overlap, roles, tasks)
    models = _models_compared(rule, tasks)
    counted = _counted(rule, tasks, models)
    by_instruction: dict[int, list[int]] = {}
    for task in counted:
        by_instruction.setdefault(task.instruction, []).append(task.pk)
    if models:
        present: dict[int, set[int]] = {}
        for task in counted:
            present.setdefault(task.instruction, set()).update(task.models)
        by_instruction = {pk: own for pk, own in by_instruction.items() if set(models) <= present[pk]}
    if not by_instruction:
        raise StoppingRefused(NO_COMMON_INSTRUCTION())
    order = sorted(by_instruction)
    Random(f"{study.seed}:stopping").shuffle(order)
    return StoppingQuestion(
        study=study,
        question=rule.question,
        threshold=rule.threshold,
        error=rule.error,
        models_compared=models,
        criteria=_criteria(rule, roles),
        instructions=[[pk, by_instruction[pk]] for pk in order],
        overlap=policies.overlap,
    )


def _tasks_of(study: Study, keys: Collection[str]) -> list[_RatedTask]:
    rows = list(
        Task.objects.filter(study=study, gold__isnull=True)
        .order_by("pk")
        .values_list(
            *("pk", "key", "answer_rubric_id", "response_a__instruction_id", "response_a__instruction__external_id"),
            *("response_a__model_id", "response_b__model_id"),
        )
    )
    rows = [row for row in rows if row[1] in keys]
    # Statistics take the wordings of one prompt as one instruction, and so does the order.
    prompts = prompts_of({row[3]: row[4] for row in rows})
    return [
        _RatedTask(pk, prompts.get(instruction, instruction), rubric, tuple(one for one in (first, second) if one))
        for pk, _key, rubric, instruction, _name, first, second in rows
    ]


def _roles(tasks: Collection[_RatedTask]) -> dict[int, dict[str, str]]:
    """By rubric, the role of each of its criteria, by position."""
    found: dict[int, dict[str, str]] = {}
    rows = Criterion.objects.filter(rubric__in={task.rubric for task in tasks}).order_by("rubric", "position", "pk")
    for rubric, key, role in rows.values_list("rubric_id", "key", "role"):
        found.setdefault(rubric, {})[key] = role
    return found


def _check(
    study: Study, rule: StoppingRule, overlap: int, roles: dict[int, dict[str, str]], tasks: Collection[_RatedTask]
) -> None:
    """Raise StoppingRefused if a study of this kind cannot answer the question."""
    if rule.question == AGREEMENT and overlap < 2:
        raise StoppingRefused(AGREEMENT_OF_ONE())
    if rule.question in (BETTER, LEADER, TOP_THREE) and study.kind == Study.Kind.REVIEW:
        raise StoppingRefused(NO_MODELS_IN_REVIEW())
    if rule.question == WEIGHTS:
        items = {
            tuple(key for key, role in own.items() if role == Criterion.Role.ITEM)
            for own in roles.values()
            if Criterion.Role.OVERALL in own.values()
        }
        if len(items) != 1 or len(items) != len({tuple(own) for own in roles.values()}) or not items.pop():
            raise StoppingRefused(NO_WEIGHTS_TO_FIT())
    models = {model for task in tasks for model in task.models}
    needed = {LEADER: 2, TOP_THREE: 4}.get(rule.question, 0)
    if len(models) < needed:
        raise StoppingRefused(TOO_FEW_MODELS(needed=needed, n=len(models)))


def _models_compared(rule: StoppingRule, tasks: Collection[_RatedTask]) -> list[int]:
    if rule.question == BETTER:
        return list(rule.models)
    if rule.question in (LEADER, TOP_THREE):
        return sorted({model for task in tasks for model in task.models})
    return []


def _counted(rule: StoppingRule, tasks: Collection[_RatedTask], models: Collection[int]) -> list[_RatedTask]:
    """The tasks that the question reads: of two models, the pairs of these two, or where there are none any of either."""
    if rule.question != BETTER:
        return list(tasks)
    wanted = set(models)
    direct = [task for task in tasks if set(task.models) == wanted and len(task.models) == 2]
    return direct or [task for task in tasks if wanted & set(task.models)]


def _criteria(rule: StoppingRule, roles: dict[int, dict[str, str]]) -> list[str]:
    """The keys of the criteria that the question reads: the items and the overall score for weights, else the overall
    score or the preference, else all of them."""
    every = list(dict.fromkeys(key for own in roles.values() for key in own))
    known = {key: role for own in roles.values() for key, role in own.items()}
    if rule.question == WEIGHTS:
        return every
    main = [key for key in every if known[key] in (Criterion.Role.OVERALL, Criterion.Role.PREFERENCE)]
    return main or every
