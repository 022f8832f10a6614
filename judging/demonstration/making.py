"""The demonstration: a small bilingual study of ours, simulated raters, and a judge that reads from a script.

Texts, models and qualities are fixtures/demo; the raters' agreement and the weights behind their overall scores
follow tables 17 to 19 of HelloBench (arXiv 2409.16191). Every row made here says that it is simulated or scripted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection, transaction
from django.db.models import QuerySet

from accounts.models import Membership, User, Workspace
from accounts.sign_in.session import DEMONSTRATION_PASSWORD
from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, Cohort, Criterion, Guideline, Rater, Rubric, Score, Seat, Study, Task
from annotation.policies.policies import stored
from calibration.statistics.design.simulation import one_factor_loadings, simulate_checklist
from generation.models import Benchmark, Category, Endpoint, GenerationRun, Instruction, LanguageModel, Response
from generation.text_metrics.counts import word_count
from judging.methods.messages import SCRIPTED
from judging.models import Judge

SLUG = "demo"
BENCHMARK = "plumbline-demo"
PASSWORD = DEMONSTRATION_PASSWORD
JUDGE = "scripted-judge"
ENDPOINT = "scripted"
SOURCE = "fixtures/demo; ratings simulated after HelloBench (arXiv 2409.16191), tables 17 to 19"
ACCOUNTS = (("lead", "Lena", Membership.Role.OWNER), ("rater", "Rui", Membership.Role.RATER))
USERNAMES = tuple(username for username, _first_name, _role in ACCOUNTS)
NAMED = 3
"""So many of each kind of other work are named in a refusal."""
SIMULATED_RATERS = 5
OVERLAP = SIMULATED_RATERS + 1
READING_WORDS_A_MINUTE = 220.0
# The judge sees a little less than the best simulated rater does, and is stricter.
JUDGE_ERROR = 0.14
JUDGE_SEVERITY = 0.06


@dataclass(frozen=True)
class Text:
    """One file of fixtures/demo/instructions."""

    external_id: str
    category: str
    language: str
    instruction: str
    responses: dict[str, str]
    quality: dict[str, dict[str, float]]


def read_texts(folder: Path) -> Iterator[Text]:
    for path in sorted((folder / "instructions").glob("*.json")):
        yield Text(**json.loads(path.read_text(encoding="utf-8")))


def other_work(folder: Path, *, migrated: bool) -> list[str]:
    """What the database holds that no demonstration made, a line for each kind: "studies: pilot, spring".

    What its own two accounts answer, fit and run in its study counts as trying it out. A database whose tables are
    not up to date is asked too, by the columns that it has had from the start.
    """
    own = [row["name"] for row in _read(folder / "benchmark.json")["models"]]
    benchmarks, rubrics, guidelines = _library(folder.parent)
    real = Rater.objects.filter(kind=Rater.Kind.PERSON, provenance=Rater.Provenance.REAL)
    users = User.objects.exclude(username__in=USERNAMES)
    asked: list[tuple[str, QuerySet[Any], str]] = [
        ("workspaces", Workspace.objects.exclude(pk__in=_own_workspace()), "slug"),
        ("accounts", users | User.objects.filter(demonstration=False) if migrated else users, "username"),
        ("studies", Study.objects.exclude(slug=SLUG, source=SOURCE), "slug"),
        ("cohorts", Cohort.objects.all(), "name"),
        ("raters", real.exclude(user__username__in=USERNAMES), "label"),
        ("benchmarks", Benchmark.objects.exclude(slug__in=benchmarks), "slug"),
        ("rubrics", Rubric.objects.exclude(key__in=rubrics), "key"),
        ("guidelines", Guideline.objects.exclude(key__in=guidelines), "key"),
        ("instructions", Instruction.objects.exclude(benchmark__slug=BENCHMARK), "external_id"),
        ("models", LanguageModel.objects.exclude(name__in=[*own, JUDGE]), "name"),
        ("model servers", Endpoint.objects.exclude(name=ENDPOINT, kind=Endpoint.Kind.SCRIPTED), "name"),
        ("generation runs", GenerationRun.objects.all(), "name"),
        ("judges", Judge.objects.exclude(rater__label=JUDGE), "rater__label"),
    ]
    tables = set(connection.introspection.table_names())
    found = []
    for what, rows, name in asked:
        if rows.model._meta.db_table not in tables:
            continue
        names = list(rows.order_by("pk").values_list(name, flat=True).distinct()[: NAMED + 1])
        if names:
            more = ", ..." if len(names) > NAMED else ""
            found.append(f"{what}: {', '.join(map(str, names[:NAMED]))}{more}")
    return found


def _own_workspace() -> list[int]:
    """The demonstration's workspace; before there is one, the only workspace, in which it would be made."""
    tables = connection.introspection.table_names()
    if Workspace._meta.db_table not in tables or Study._meta.db_table not in tables:
        return []
    of_study = list(Study.objects.filter(slug=SLUG, source=SOURCE).values_list("workspace", flat=True)[:1])
    return of_study or list(Workspace.objects.order_by("pk").values_list("pk", flat=True)[:1])


def _library(fixtures: Path) -> tuple[list[str], list[str], list[str]]:
    """Slugs of benchmarks, keys of rubrics and keys of guidelines that come with the program."""
    benchmarks = [BENCHMARK, *(_read(path)["slug"] for path in (fixtures / "taxonomies").glob("*.json"))]
    files = [_read(path) for path in (fixtures / "rubrics").glob("*.json")]
    rubrics = [
        f"{file['benchmark']}-{rubric['key']}" if file["benchmark"] else str(rubric["key"])
        for file in files
        for rubric in file["rubrics"]
    ]
    return (benchmarks, rubrics, [path.name.partition(".")[0] for path in (fixtures / "guidelines").glob("*.md")])


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def make_people(workspace: Workspace) -> list[User]:
    """The two accounts of the demonstration, its lead first. Neither administers the server."""
    made = []
    for username, first_name, role in ACCOUNTS:
        user, new = User.objects.get_or_create(
            username=username, defaults={"first_name": first_name, "demonstration": True, "made_in": workspace}
        )
        if new:
            user.set_password(PASSWORD)
            user.save()
        Membership.objects.get_or_create(workspace=workspace, user=user, defaults={"role": role})
        made.append(user)
    return made


def load_texts(workspace: Workspace, folder: Path) -> Benchmark:
    """Instructions, fictional models and their responses, once."""
    benchmark = Benchmark.objects.get(workspace=workspace, slug=BENCHMARK)
    described = _read(folder / "benchmark.json")
    categories = {category.key: category for category in Category.objects.filter(benchmark=benchmark)}
    models = {
        row["name"]: LanguageModel.objects.get_or_create(
            workspace=workspace, name=row["name"], defaults={"fictional": True, "family": row["name"].split("-")[0]}
        )[0]
        for row in described["models"]
    }
    for text in read_texts(folder):
        instruction, _made = Instruction.objects.get_or_create(
            benchmark=benchmark,
            external_id=text.external_id,
            defaults={
                "category": categories[text.category],
                "language": text.language,
                "messages": [{"role": "user", "content": text.instruction}],
            },
        )
        for name, words in text.responses.items():
            Response.objects.get_or_create(
                instruction=instruction,
                model=models[name],
                sample=0,
                run=None,
                defaults={
                    "text": words,
                    "words": _words(words, text.language),
                    "external_id": f"{text.external_id}/{name}",
                    "finish_reason": "stop",
                },
            )
    return benchmark


def _words(text: str, language: str) -> int:
    """Words as the field counts them; in Chinese every character is one to read."""
    if language.startswith("zh"):
        return sum("\u4e00" <= character <= "\u9fff" for character in text)
    return word_count(text)


def make_study(benchmark: Benchmark, *, lead: User, seed: int) -> Study:
    """The study of all responses: seats for the simulated raters and one more for whoever tries the screen."""
    guideline = Guideline.objects.filter(workspace=benchmark.workspace, key="checklist").first()
    study = Study.objects.create(
        workspace=benchmark.workspace,
        slug=SLUG,
        names={"en": "Demonstration: three fictional models", "zh-hans": "演示：三个虚构模型"},
        kind=Study.Kind.CHECKLIST,
        status=Study.Status.OPEN,
        benchmark=benchmark,
        guideline=guideline,
        policies=stored(overlap=OVERLAP, order="spread"),
        seed=seed,
        created_by=lead,
        source=SOURCE,
    )
    rubrics = {rubric.category_id: rubric for rubric in Rubric.objects.filter(benchmark=benchmark)}
    responses = Response.objects.filter(instruction__benchmark=benchmark).select_related("instruction")
    Task.objects.bulk_create(
        Task(
            study=study,
            kind=Task.Kind.SINGLE,
            key=f"r:{response.pk}",
            response_a=response,
            answer_rubric=rubrics[response.instruction.category_id],
        )
        for response in responses.order_by("pk")
    )
    make_seats(study)
    return study


@dataclass(frozen=True)
class Published:
    """What the simulation takes from HelloBench: weights and errors by category, raters' loadings."""

    weights: dict[str, npt.NDArray[np.float64]]
    mse: dict[str, float]
    loadings: npt.NDArray[np.float64]


def published_statistics(fixtures: Path) -> Published:
    """Means over a category's subcategories whose checklists have the demonstration's number of items."""
    tables = _read(fixtures / "published" / "hellobench.json")
    taxonomy = _read(fixtures / "taxonomies" / "hellobench.json")
    items = {"open_ended_qa": 7, "summarization": 6, "heuristic_text_generation": 5}
    weights, mse = {}, {}
    for category in taxonomy["categories"]:
        keys = [child["key"] for child in category["children"]]
        fitting = [key for key in keys if len(tables["table_17"][key]) == items.get(category["key"])]
        if fitting:
            weights[category["key"]] = np.mean([tables["table_17"][key] for key in fitting], axis=0)
            mse[category["key"]] = float(np.mean([tables["table_19"][key]["mse"] for key in fitting]))
    return Published(weights, mse, one_factor_loadings(np.array(tables["table_18"]["matrix"])))


@transaction.atomic
def simulate_raters(study: Study, folder: Path, *, published: Published, seed: int, start: datetime) -> int:
    """Five raters, labelled simulated, answer every task of the study; how many answers they gave."""
    rng = np.random.default_rng(seed)
    raters = [
        Rater.objects.create(
            workspace=study.workspace,
            study=study,
            label=f"simulated-{number}",
            pseudonym=f"S{number}",
            provenance=Rater.Provenance.SIMULATED,
        )
        for number in range(1, SIMULATED_RATERS + 1)
    ]
    quality = {text.external_id: text.quality for text in read_texts(folder)}
    tasks = study.tasks.select_related("response_a__instruction__category", "response_a__model")
    by_category: dict[str, list[Task]] = {}
    for task in tasks.order_by("pk"):
        assert task.response_a.instruction.category is not None
        by_category.setdefault(task.response_a.instruction.category.key, []).append(task)
    answers = 0
    for key, group in by_category.items():
        criteria = list(group[0].answer_rubric.criteria.order_by("position"))
        answers += _answer_category(group, criteria, quality, raters, published, key, rng, start)
    return answers


def _answer_category(
    tasks: list[Task],
    criteria: list[Criterion],
    quality: dict[str, dict[str, dict[str, float]]],
    raters: list[Rater],
    published: Published,
    category: str,
    rng: np.random.Generator,
    start: datetime,
) -> int:
    items = [criterion for criterion in criteria if criterion.role == Criterion.Role.ITEM]
    overall = next(criterion for criterion in criteria if criterion.role == Criterion.Role.OVERALL)
    truth = np.array([[_quality_of(task, quality)[item.key] for item in items] for task in tasks])
    ratings = simulate_checklist(
        truth,
        published.weights[category],
        loadings=published.loadings,
        overall_mse=published.mse[category],
        levels=np.array([float(level["value"]) for level in items[0].levels]),
        rng=rng,
    )
    seats = {(seat.task_id, seat.place): seat for seat in Seat.objects.filter(task__in=tasks)}
    scores: list[Score] = []
    for place, rater in enumerate(raters):
        for row, task in enumerate(tasks):
            assignment = _assignment(task, rater, seats[task.pk, place], rng, start)
            for column, item in enumerate(items):
                scores.append(_score(assignment, item, ratings.answers[place, row, column]))
            scores.append(_score(assignment, overall, ratings.overall[place, row]))
    Seat.objects.bulk_update([seat for seat in seats.values() if seat.holder_id], ["state", "holder"], batch_size=500)
    Score.objects.bulk_create(scores, batch_size=1000)
    return len(tasks) * len(raters)


def _quality_of(task: Task, quality: dict[str, dict[str, dict[str, float]]]) -> dict[str, float]:
    assert task.response_a.model is not None
    return quality[task.response_a.instruction.external_id][task.response_a.model.name]


def _assignment(task: Task, rater: Rater, seat: Seat, rng: np.random.Generator, start: datetime) -> Assignment:
    seat.state, seat.holder = Seat.State.TAKEN, rater
    reading = 60 * (task.response_a.words or 300) / READING_WORDS_A_MINUTE
    active = float(reading * rng.uniform(0.8, 1.3) + rng.uniform(40, 120))
    shown = start + timedelta(minutes=float(rng.uniform(0, 4 * 24 * 60)))
    return Assignment.objects.create(
        task=task,
        rater=rater,
        seat=seat,
        status=Assignment.Status.SUBMITTED,
        shown_at=shown,
        submitted_at=shown + timedelta(seconds=active),
        active_seconds=round(active, 1),
        idle_seconds=0.0,
        conditions={"simulated": True},
    )


def _score(assignment: Assignment, criterion: Criterion, value: float) -> Score:
    level = criterion.level_of(float(value))
    return Score(
        assignment=assignment, criterion=criterion, value=float(value), level=str(level["key"]) if level else ""
    )


def make_scripted_model(study: Study, folder: Path, *, seed: int) -> LanguageModel:
    """A model whose every verdict is written down: the true quality, seen with some error and some severity."""
    rng = np.random.default_rng(seed)
    answers: dict[str, dict[str, object]] = {}
    for text in read_texts(folder):
        for name, quality in text.quality.items():
            seen = {
                key: float(np.clip(np.rint(4 * (value - JUDGE_SEVERITY + rng.normal(0, JUDGE_ERROR))) / 4, 0, 1))
                for key, value in quality.items()
            }
            answers[f"{text.external_id}/{name}"] = {
                key: {"score": value, "reason": str(SCRIPTED[value]())} for key, value in seen.items()
            }
    endpoint, _made = Endpoint.objects.get_or_create(
        workspace=study.workspace, name=ENDPOINT, defaults={"kind": Endpoint.Kind.SCRIPTED}
    )
    model, _made = LanguageModel.objects.update_or_create(
        workspace=study.workspace,
        name=JUDGE,
        defaults={
            "endpoint": endpoint,
            "fictional": True,
            "parameters": {"script": {"seed": seed, "seconds": 0.02, "answers": answers}},
        },
    )
    return model
