"""The study that holds all responses of a benchmark's experiment for judges."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.utils.translation import gettext

from annotation.models import Assignment, Criterion, Rubric, Study, Task
from annotation.rubrics.library import named_rubrics
from annotation.studies.life_cycle import make_tasks as add_tasks
from core.db.bulk_insert import Inserting
from core.db.public_ids import new_public_id
from core.errors import UserError
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun, Instruction, Response

BATCH = 2_000
KEY = "r:"
"""Prefix of the key of a task, before the primary key of its response."""
NEW_TASKS = Inserting(Task, "public_id", "key", "response_a", "answer_rubric", skip_known=True)
Row = tuple[int, int, int | None]
"""The primary keys of a response, its instruction, and the instruction's category."""


class NothingToJudge(UserError):
    """No task of the study is left for this judge, or none is of a kind that its method can judge."""


def study_of_benchmark(benchmark: Benchmark, experiment: str = MAIN_EXPERIMENT) -> Study:
    """Return the study of all texts of a benchmark's experiment, with tasks for new responses added.

    Raises NothingToJudge if there is no text or no rubric.
    """
    with transaction.atomic():
        study = own_study(benchmark, experiment)
        rows = rows_of(responses_without_task(benchmark, experiment, study))
        rubrics = NearestRubrics(benchmark)
        for start in range(0, len(rows), BATCH):
            make_tasks(study, rows[start : start + BATCH], rubrics)
        if not study.tasks.exists():
            raise nothing_of(benchmark)
    return study


def own_study(benchmark: Benchmark, experiment: str = MAIN_EXPERIMENT) -> Study:
    """Return the study itself, created without tasks if necessary."""
    study, _made = Study.objects.get_or_create(
        workspace=benchmark.workspace,
        slug=slug_of_benchmark(benchmark, experiment),
        defaults={
            "benchmark": benchmark,
            "experiment": experiment,
            "kind": Study.Kind.CHECKLIST,
            "status": Study.Status.CLOSED,
            "names": {"en": f"{benchmark.name}: all responses", "zh-hans": f"{benchmark.name}：全部回答"},
        },
    )
    return study


def check_study_of(benchmark: Benchmark, experiment: str = MAIN_EXPERIMENT) -> Study:
    """Return the study of all instruction checks of a benchmark's experiment, with tasks for new responses added.

    Raises NothingToJudge if no instruction has checks, or if no response has a part that is checked.
    """
    with transaction.atomic():
        study, _made = Study.objects.get_or_create(
            workspace=benchmark.workspace,
            slug=f"{benchmark.slug}-checks" + ("" if experiment == MAIN_EXPERIMENT else f"-{experiment}"),
            defaults={
                "benchmark": benchmark,
                "experiment": experiment,
                "kind": Study.Kind.CHECK,
                "status": Study.Status.CLOSED,
                "names": {
                    "en": f"{benchmark.name}: all instruction checks",
                    "zh-hans": f"{benchmark.name}：全部指令检查",
                },
            },
        )
        if not add_tasks(study):
            raise NothingToJudge(
                f"No response of benchmark {benchmark.slug} has a part, under a heading such as “Week 12:”, that its "
                "instructions' checks ask about. Load or generate responses that have such parts; if the instructions "
                "have no checks, upload these as a table or with their benchmark."
            )
    return study


def rows_of(responses: QuerySet[Response]) -> list[Row]:
    return list(responses.values_list("pk", "instruction_id", "instruction__category_id"))


def make_tasks(study: Study, rows: Iterable[Row], rubrics: "NearestRubrics") -> None:
    """Create a task for each response that has a rubric and no task, even while another process does the same."""
    fixed: dict[str, object] = {"study": study.pk, "kind": Task.Kind.SINGLE, "position": 0}
    NEW_TASKS.insert(
        (
            (new_public_id(), f"{KEY}{pk}", pk, rubric.pk)
            for pk, instruction, category in rows
            if (rubric := rubrics.of(instruction, category)) is not None
        ),
        **fixed,
    )


def slug_of_benchmark(benchmark: Benchmark, experiment: str) -> str:
    """Return the slug of the study that holds all responses of a benchmark's experiment."""
    return f"{benchmark.slug}-judged" + ("" if experiment == MAIN_EXPERIMENT else f"-{experiment}")


def nothing_of(benchmark: Benchmark) -> NothingToJudge:
    return NothingToJudge(
        f"Benchmark {benchmark.slug} has no response with both a text and a rubric. Load its responses first; if the "
        "benchmark has no rubric, create a study of it in the browser with your own questions and judge that study."
    )


def responses_without_task(benchmark: Benchmark, experiment: str, study: Study | None) -> QuerySet[Response]:
    """Return the texts of an experiment without a task in the study; all of them if there is no study yet."""
    responses = Response.objects.filter(
        instruction__benchmark=benchmark, kind=Response.Kind.RESPONSE, text__isnull=False
    ).order_by("instruction", "model", "sample", "pk")
    if experiment == MAIN_EXPERIMENT:
        others = GenerationRun.objects.filter(benchmark=benchmark).exclude(experiment=MAIN_EXPERIMENT)
        responses = responses.exclude(run__in=others)
    else:
        responses = responses.filter(run__experiment=experiment)
    if study is None:
        return responses
    # Matched by key, which has an index with the study: by response, SQLite would read the whole study for each.
    key = Concat(Value(KEY), Cast("pk", CharField()))
    return responses.annotate(task_key=key).exclude(Exists(Task.objects.filter(study=study, key=OuterRef("task_key"))))


class NearestRubrics:
    """The nearest rubric of each instruction of a benchmark: its own, the one it names, or its category's."""

    def __init__(self, benchmark: Benchmark) -> None:
        own = Rubric.objects.filter(
            workspace=benchmark.workspace_id, instruction__benchmark=benchmark, study=None
        ).exclude(criteria__role=Criterion.Role.CHECK)
        self._own = {rubric.instruction_id: rubric for rubric in own.order_by("version")}
        self._named = named_rubrics(benchmark)
        self._of_category: dict[tuple[int | None, str], Rubric | None] = {}

    def of(self, instruction: int, category: int | None) -> Rubric | None:
        """Return the rubric by the primary keys of instruction and category; the newest version counts."""
        if instruction in self._own:
            return self._own[instruction]
        place = category, self._named.get(instruction, "")
        if place not in self._of_category:
            found = Instruction.objects.select_related("category__parent", "benchmark").get(pk=instruction)
            self._of_category[place] = Rubric.objects.nearest_to(found)
        return self._of_category[place]


def equally_near(benchmark: Benchmark) -> tuple[Rubric, list[Rubric]] | None:
    """Return the rubric in use and the others, for the first place with several rubrics; None if there is no such
    place.

    The newest version counts, and of equal versions the first by key. Where every instruction names its rubric, no
    place has to be shared.
    """
    if benchmark.instructions.exists() and not benchmark.instructions.filter(rubric="").exists():
        return None
    places: dict[int | None, dict[str, Rubric]] = {}
    library = Rubric.objects.filter(workspace=benchmark.workspace_id, instruction=None, study=None)
    library = library.filter(benchmark=benchmark).exclude(criteria__role=Criterion.Role.CHECK)
    for rubric in library.order_by("key", "version", "pk"):
        places.setdefault(rubric.category_id, {})[rubric.key] = rubric
    for _place, by_key in sorted(places.items(), key=lambda one: one[0] or 0):
        if len(by_key) > 1:
            taken, *others = sorted(by_key.values(), key=lambda one: (-one.version, one.key))
            return taken, others
    return None


def choice_in_words(benchmark: Benchmark) -> str:
    """Say which of several rubrics all responses are judged by, and how to use another; '' if there is only one."""
    found = equally_near(benchmark)
    if found is None:
        return ""
    taken, others = found
    return gettext(
        "Several rubrics fit this place equally well: %(taken)s and %(others)s. %(taken)s is used, because it is "
        "the newest version or comes first by key. To use another rubric, create a study with it and run the judge"
        " on that study."
    ) % {"taken": taken.name, "others": ", ".join(one.name for one in others)}


def is_of_benchmark(study: Study) -> bool:
    benchmark = study.benchmark
    return benchmark is not None and study.slug == slug_of_benchmark(benchmark, study.experiment)


def rated_of(tasks: QuerySet[Task], study: Study) -> QuerySet[Task]:
    """Return the tasks that people answered; in a benchmark's own study, where nobody rates, those of responses rated
    anywhere.
    """
    if study.benchmark is not None and is_of_benchmark(study):
        return tasks.filter(response_a__in=rated_responses(study.benchmark))
    answered = Assignment.objects.filter(task__study=study).answered().of_people()
    return tasks.filter(pk__in=answered.values("task_id"))


def rated_responses(benchmark: Benchmark) -> QuerySet[Assignment, int]:
    """Return the primary keys of the benchmark's responses that people rated singly, in any study."""
    answered = Assignment.objects.filter(
        task__response_a__instruction__benchmark=benchmark, task__kind=Task.Kind.SINGLE
    )
    return answered.answered().of_people().order_by().values_list("task__response_a_id", flat=True)
