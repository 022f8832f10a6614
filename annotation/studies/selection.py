"""Select the tasks of a study: the responses a lead chose, singly, in pairs, or with a judge's verdict."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice, zip_longest
from random import Random
from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import Assignment, Criterion, Rater, Rubric, Study, Task
from annotation.policies.policies import Policies, Selection
from annotation.rubrics.instruction_checks import PREFIX as CHECK_PREFIX, single_rubrics
from annotation.rubrics.library import RubricsOf
from annotation.rubrics.reviews import PREFIX as REVIEW_PREFIX, review_rubric
from annotation.rules.subtasks import Part, subtasks_in
from generation.models import MAIN_EXPERIMENT, Instruction, Response
from generation.text_metrics.counts import word_count

WORDS_WHERE_UNKNOWN = 600
TEXTS_AT_ONCE = 200
MOST_TAGS = 50
ROLES_OF = {
    Study.Kind.CHECKLIST: {Criterion.Role.ITEM},
    Study.Kind.STARS: {Criterion.Role.ITEM, Criterion.Role.OVERALL},
    Study.Kind.PAIR: {Criterion.Role.PREFERENCE},
    Study.Kind.CHECK: {Criterion.Role.CHECK},
}


@dataclass(frozen=True)
class Candidate:
    """A response that may be rated."""

    pk: int
    instruction: int
    category: int | None
    model: int | None
    words: int


@dataclass(frozen=True)
class PlannedTask:
    """A planned task; `reviews` is the assignment whose verdict is rated, the other fields as in Task."""

    key: str
    response_a: int
    response_b: int | None
    instruction: int
    answer_rubric: int
    words: int
    guide_rubric: int | None = None
    reviews: int | None = None
    part: dict[str, Any] | None = None
    drawing_probability: float | None = None


@dataclass(frozen=True)
class PlannedTasks:
    """All planned tasks, the number of responses, pairs or verdicts that no rubric for this kind of study fits, and the
    number of parts to check that are not in their response.
    """

    tasks: list[PlannedTask]
    without_rubric: int
    absent: int = 0

    def __len__(self) -> int:
        return len(self.tasks)


def with_roles(rubrics: QuerySet[Rubric], kind: str) -> QuerySet[Rubric]:
    """The rubrics with which a study of this kind can be answered."""
    roles = ROLES_OF.get(Study.Kind(kind))
    return rubrics.filter(criteria__role__in=roles).distinct() if roles else rubrics


def fitting_rubrics(study: Study) -> QuerySet[Rubric]:
    """The rubrics with which this study can be answered, by key and newest first: its own and the workspace's.

    Those of another benchmark, of a single instruction, and those made for instruction checks and reviews do not fit. The
    rubric that the study has is among them in any case.
    """
    inside = Rubric.objects.filter(workspace=study.workspace_id)
    of_benchmark = Q(benchmark=study.benchmark_id) | Q(category__benchmark=study.benchmark_id)
    anywhere = Q(benchmark=None, category=None)
    library = inside.filter(of_benchmark | anywhere, study=None, instruction=None)
    made = Q(key__startswith=CHECK_PREFIX) | Q(key__startswith=REVIEW_PREFIX)
    fitting = with_roles(inside.filter(Q(pk__in=library.values("pk")) | Q(study=study)), study.kind).exclude(made)
    return inside.filter(Q(pk__in=fitting.values("pk")) | Q(pk=study.rubric_id)).order_by("key", "-version")


def chosen_responses(study: Study) -> QuerySet[Response]:
    """Responses with text from the study's benchmark and experiment that match the selection."""
    chosen = Selection.of(study)
    responses = Response.objects.filter(
        instruction__benchmark=study.benchmark_id, kind=Response.Kind.RESPONSE, text__isnull=False
    )
    if study.experiment in ("", MAIN_EXPERIMENT):
        responses = responses.filter(Q(run=None) | Q(run__experiment=MAIN_EXPERIMENT))
    else:
        responses = responses.filter(run__experiment=study.experiment)
    if chosen.categories:
        of_group = Q(instruction__category__parent__in=chosen.categories)
        responses = responses.filter(Q(instruction__category__in=chosen.categories) | of_group)
    if chosen.models:
        responses = responses.filter(model__in=chosen.models)
    if chosen.drawn:
        responses = responses.filter(pk__in=list(chosen.drawn))
    if chosen.tags:
        responses = responses.filter(instruction__in=tagged_instructions(study.benchmark_id, chosen.tags))
    return responses


def tagged_instructions(benchmark: int | None, tags: Iterable[str]) -> list[int]:
    """Primary keys of the benchmark's instructions that have any of the tags."""
    wanted = set(tags)
    # Not every database can look into a list.
    rows = Instruction.objects.filter(benchmark=benchmark).order_by("pk").values_list("pk", "tags")
    return [pk for pk, own in rows if wanted & {str(tag) for tag in own or ()}]


def tags_of(benchmark: int | None) -> list[str]:
    """The tags of the benchmark's instructions, sorted."""
    rows = Instruction.objects.filter(benchmark=benchmark).order_by().values_list("tags", flat=True)
    return sorted({str(tag) for own in rows for tag in own or ()})


def offered_tags(study: Study) -> list[str]:
    """The tags from which a form lets choose: those that were chosen, then as many of the benchmark's as fit a form."""
    return list(dict.fromkeys([*Selection.of(study).tags, *tags_of(study.benchmark_id)[:MOST_TAGS]]))


def candidates(study: Study) -> list[Candidate]:
    """The responses to rate, by instruction and model; only each model's first sample unless all are chosen."""
    rows = chosen_responses(study).order_by("instruction", "model", "sample", "pk")
    found: list[Candidate] = []
    seen: set[tuple[int, int]] = set()
    first_only = Selection.of(study).samples == "first" or study.kind == Study.Kind.PAIR
    for pk, instruction, category, model, words in rows.values_list(
        "pk", "instruction_id", "instruction__category_id", "model_id", "words"
    ):
        if first_only and model is not None:
            if (instruction, model) in seen:
                continue
            seen.add((instruction, model))
        found.append(Candidate(pk, instruction, category, model, WORDS_WHERE_UNKNOWN if words is None else words))
    wanted = Selection.of(study).instructions
    if wanted:
        drawn = drawn_instructions(found, wanted, Random(f"{study.seed}:instructions"), study.kind == Study.Kind.PAIR)
        found = [one for one in found if one.instruction in drawn]
    return found


def drawn_instructions(candidates: Iterable[Candidate], wanted: int, random: Random, in_pairs: bool) -> set[int]:
    """At most `wanted` instructions, drawn evenly: the categories take turns until one has none left.

    For pairs, only instructions with two responses or more are drawn.
    """
    responses = Counter((one.category, one.instruction) for one in candidates)
    by_category: dict[int | None, list[int]] = {}
    for (category, instruction), count in sorted(responses.items(), key=lambda one: one[0][1]):
        if count > 1 or not in_pairs:
            by_category.setdefault(category, []).append(instruction)
    groups = list(by_category.values())
    random.shuffle(groups)
    for group in groups:
        random.shuffle(group)
    turns = (one for turn in zip_longest(*groups) for one in turn if one is not None)
    return set(islice(turns, wanted))


def planned_tasks(study: Study) -> PlannedTasks:
    """The tasks that the study's settings give, in order, without quality checks and tasks that the lead dropped
    (policy "dropped", their keys). Writes only the rubrics of reviews and checks, if needed.
    """
    made = _chosen_tasks(study)
    gold = study.tasks.filter(gold__isnull=False).values_list("key", flat=True)
    left_out = {*Policies.of(study).dropped, *gold}
    return replace(made, tasks=[one for one in made.tasks if one.key not in left_out]) if left_out else made


def _chosen_tasks(study: Study) -> PlannedTasks:
    if study.kind == Study.Kind.REVIEW:
        return _reviews(study)
    if study.benchmark_id is None:
        return PlannedTasks([], 0)
    if study.kind == Study.Kind.CHECK:
        return _checks(study)
    rubric_of = RubricChoice(study)
    drawn = Selection.of(study).drawn
    tasks, without = [], 0
    if study.kind == Study.Kind.PAIR:
        couples: Iterable[tuple[Candidate, Candidate | None]] = _pairs(study)
    else:
        couples = ((one, None) for one in candidates(study))
    for first, second in couples:
        rubric = rubric_of(first)
        if rubric is None:
            without += 1
        elif second is None:
            planned = PlannedTask(f"r:{first.pk}", first.pk, None, first.instruction, rubric, first.words)
            tasks.append(replace(planned, drawing_probability=drawn.get(first.pk)))
        else:
            low, high = sorted((first.pk, second.pk))
            words = first.words + second.words
            tasks.append(PlannedTask(f"p:{low}:{high}", low, high, first.instruction, rubric, words))
    return PlannedTasks(tasks, without)


class RubricChoice:
    """The rubric for a response: the study's own, otherwise the most specific one that fits the kind of study."""

    def __init__(self, study: Study) -> None:
        assert study.benchmark is not None
        self._chosen = study.rubric_id
        fitting = with_roles(Rubric.objects.all(), study.kind)
        self._library = None if self._chosen else RubricsOf(study.benchmark, fitting)
        self._found: dict[tuple[int, int | None], int | None] = {}

    def __call__(self, one: Candidate) -> int | None:
        if self._library is None:
            return self._chosen
        place = one.instruction, one.category
        if place not in self._found:
            nearest = self._library.nearest(*place)
            self._found[place] = nearest.pk if nearest is not None else None
        return self._found[place]


def _drawn_checks(verdicts: tuple[int, ...]) -> PlannedTasks:
    """The checks that a judge answered with these verdicts, to be answered by people."""
    tasks: dict[str, PlannedTask] = {}
    for start in range(0, len(verdicts), 500):
        rows = Task.objects.filter(kind=Task.Kind.CHECK, assignments__in=verdicts[start : start + 500])
        for task in rows.select_related("response_a").order_by("pk"):
            text, part = task.response_a, task.part
            words = (text.words or WORDS_WHERE_UNKNOWN) if part is None else _words_of(text.text or "", part)
            tasks[task.key] = PlannedTask(
                task.key, text.pk, None, text.instruction_id, task.answer_rubric_id, words, part=part
            )
    return PlannedTasks(list(tasks.values()), 0)


def _words_of(text: str, part: dict[str, Any]) -> int:
    return word_count(text[part["start"] : part["end"]])


def _checks(study: Study) -> PlannedTasks:
    """One task for each check of each response: of the whole text, or of every part that the check names.

    Of a study that was drawn from a judge's verdicts, only those checks.
    """
    if drawn := Selection.of(study).verdicts:
        return _drawn_checks(drawn)
    rubric_of = RubricChoice(study)
    chosen = [(one, rubric_of(one)) for one in candidates(study)]
    checks_of: dict[int, list[Criterion]] = {}
    rubrics = {rubric for _one, rubric in chosen if rubric is not None}
    for check in Criterion.objects.filter(rubric__in=rubrics, role=Criterion.Role.CHECK).select_related("rubric"):
        checks_of.setdefault(check.rubric_id, []).append(check)
    single = single_rubrics(check for checks in checks_of.values() for check in checks)
    tasks: list[PlannedTask] = []
    absent = 0
    for start in range(0, len(chosen), TEXTS_AT_ONCE):
        some = [(one, checks_of[rubric]) for one, rubric in chosen[start : start + TEXTS_AT_ONCE] if rubric is not None]
        texts = dict(Response.objects.filter(pk__in=[one.pk for one, _checks_ in some]).values_list("pk", "text"))
        for one, checks in some:
            found, missing = _checked_parts(one, texts[one.pk] or "", checks, single)
            tasks.extend(found)
            absent += missing
    return PlannedTasks(tasks, sum(rubric is None for _one, rubric in chosen), absent)


def _checked_parts(
    one: Candidate, text: str, checks: list[Criterion], single: dict[int, int]
) -> tuple[list[PlannedTask], int]:
    """The tasks of one response, and the number of parts to check that are not in it."""
    parts: dict[str, dict[int, Part]] = {}
    tasks, absent = [], 0
    for check in checks:
        rubric, where = single[check.pk], check.subtasks
        if not where or not where.get("numbers"):
            tasks.append(PlannedTask(f"c:{one.pk}:{check.pk}", one.pk, None, one.instruction, rubric, one.words))
            continue
        mark = str(where.get("mark", ""))
        if mark not in parts:
            parts[mark] = subtasks_in(text, mark)
        found = parts[mark]
        for number in where["numbers"]:
            part = found.get(number)
            if part is None:
                absent += 1
                continue
            named = {"number": number, "start": part.start, "end": part.end, "kind": where["kind"], "mark": mark}
            words = word_count(text[part.start : part.end])
            key = f"c:{one.pk}:{check.pk}:{number}"
            tasks.append(PlannedTask(key, one.pk, None, one.instruction, rubric, words, part=named))
    return tasks, absent


def _pairs(study: Study) -> Iterator[tuple[Candidate, Candidate]]:
    """The pairs of one instruction's responses that match the selection."""
    chosen = Selection.of(study)
    by_instruction: dict[int, list[Candidate]] = {}
    for one in candidates(study):
        by_instruction.setdefault(one.instruction, []).append(one)
    if chosen.pairs == "even":
        yield from even_pairs(by_instruction, chosen.pairs_wanted, Random(f"{study.seed}:pairs"))
        return
    baselines = set(chosen.baselines) if chosen.pairs == "baselines" else None
    for members in by_instruction.values():
        for first, second in combinations(members, 2):
            if baselines is None or (first.model in baselines) != (second.model in baselines):
                yield first, second


def even_pairs(
    by_instruction: dict[int, list[Candidate]], wanted: int, random: Random
) -> Iterator[tuple[Candidate, Candidate]]:
    """At most `wanted` pairs: any two models are compared equally often, spread evenly over the instructions.

    Pairs of models take turns; each takes the next instruction, in random order, that it has not had.
    """
    order = sorted(by_instruction)
    random.shuffle(order)
    answers = {
        instruction: {(0 if one.model is None else one.model): one for one in members}
        for instruction, members in by_instruction.items()
    }
    models = sorted({model for held in answers.values() for model in held})
    couples = list(combinations(models, 2))
    random.shuffle(couples)
    used: dict[tuple[int, int], set[int]] = {couple: set() for couple in couples}
    given = here = 0
    while couples and given < wanted:
        left = []
        for couple in couples:
            if given >= wanted:
                return
            for step in range(len(order)):
                instruction = order[(here + step) % len(order)]
                held = answers[instruction]
                if instruction not in used[couple] and couple[0] in held and couple[1] in held:
                    used[couple].add(instruction)
                    here = (here + step + 1) % len(order)
                    given += 1
                    left.append(couple)
                    yield held[couple[0]], held[couple[1]]
                    break
        couples = left


def judges_to_review(study: Study) -> QuerySet[Rater]:
    """Judges of the workspace that gave verdicts on the study's benchmark."""
    judged = Assignment.objects.filter(
        rater__kind=Rater.Kind.JUDGE, rater__workspace=study.workspace_id, status=Assignment.Status.SUBMITTED
    )
    if study.benchmark_id:
        judged = judged.filter(task__response_a__instruction__benchmark=study.benchmark_id)
    return Rater.objects.filter(pk__in=judged.order_by().values("rater")).order_by("label")


def _reviews(study: Study) -> PlannedTasks:
    """One task for each verdict of the chosen judges on the chosen responses."""
    chosen = Selection.of(study)
    verdicts = Assignment.objects.answered().of_judges().filter(rater__workspace=study.workspace_id)
    if chosen.verdicts:
        # Verdicts sampled one by one may include a panel's, which are derived from its members' answers.
        given = (Assignment.Status.SUBMITTED, Assignment.Status.DERIVED)
        verdicts = Assignment.objects.of_judges().filter(
            pk__in=chosen.verdicts, status__in=given, rater__workspace=study.workspace_id
        )
    elif study.benchmark_id:
        verdicts = verdicts.filter(task__response_a__in=chosen_responses(study).values("pk"))
    if chosen.judges:
        verdicts = verdicts.filter(rater__in=chosen.judges)
    if chosen.reviewed:
        verdicts = verdicts.filter(task__study=chosen.reviewed)
    rows = (
        verdicts.exclude(task__study=study)
        .order_by("task", "rater", "pk")
        .values_list(
            "pk",
            "task__response_a_id",
            "task__response_b_id",
            "task__response_a__instruction_id",
            "task__response_a__words",
            "task__answer_rubric_id",
            "task__part",
        )
    )
    rubrics: dict[int, int] = {}
    tasks = []
    for pk, first, second, instruction, words, judged_by, part in rows:
        if judged_by not in rubrics:
            rubrics[judged_by] = review_rubric(Rubric.objects.get(pk=judged_by)).pk
        length = WORDS_WHERE_UNKNOWN if words is None else words
        tasks.append(
            PlannedTask(f"v:{pk}", first, second, instruction, rubrics[judged_by], length, judged_by, pk, part)
        )
    return PlannedTasks(tasks, 0)


def task_row(study: Study, planned: PlannedTask, position: int) -> Task:
    """The unsaved row of a planned task."""
    return Task(
        study=study,
        kind=study.task_kind,
        key=planned.key,
        response_a_id=planned.response_a,
        response_b_id=planned.response_b,
        reviews_id=planned.reviews,
        answer_rubric_id=planned.answer_rubric,
        guide_rubric_id=planned.guide_rubric,
        part=planned.part,
        position=position,
        drawing_probability=planned.drawing_probability,
    )
