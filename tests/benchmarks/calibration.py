"""How fast calibration is at the size of the published studies, on made-up data, seeded.

The last line is JSON: fit_38_s (38 categories, 12,940 annotations of 647 instructions by 5 raters on 4 models, with
1,000 bootstraps over instructions and over raters and every leave-one-out refit), loo_ms and alpha_ms (inner
leave-one-out and ordinal alpha of 243,337 ratings by 2,186 raters, once in arrays), frame_s (those ratings from the
database to arrays), leaderboard_s (20,900 judged responses from the database to a ranking), leaderboard_page_s (the
page of it, nothing cached, with every block and figure), peak_mb of this process.
The database is made in a process of its own, in a temporary folder, and is SQLite whatever the settings name.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

INSTRUCTIONS, CATEGORIES, TOPS, RATERS, MODELS, ITEMS = 647, 38, 5, 5, 4, 6
RATINGS, CROWD, CROWD_CRITERIA, CROWD_TASKS = 243_337, 2_186, 5, 5_436
JUDGED, JUDGED_MODELS = 20_900, 33
BATCH = 5_000
SEED = 2409


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Median over repeats, after one run that loads what is loaded once."""
    work()
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def batches(count: int) -> Iterator[range]:
    for start in range(0, count, BATCH):
        yield range(start, min(start + BATCH, count))


def build() -> None:
    """Migrate the temporary database and fill it with a crowd's stars and a judge's checklists."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from accounts.models import Workspace

    workspace = Workspace.objects.create(slug="benchmark", name="Benchmark")
    build_crowd(workspace)
    build_judged(workspace)


def build_rubric(workspace, key: str, items: int):
    from annotation.models import Criterion, Rubric

    levels = [{"key": str(place), "value": place / 4, "label": {}, "description": {}} for place in range(5)]
    rubric = Rubric.objects.create(workspace=workspace, key=key)
    return rubric, [
        Criterion.objects.create(rubric=rubric, key=f"item{place}", position=place, levels=levels)
        for place in range(items)
    ]


def build_crowd(workspace) -> None:
    """243,337 ratings: five criteria an answer, answers spread over 2,186 raters and 5,436 responses."""
    from annotation.models import Assignment, Rater, Score, Study, Task
    from generation.models import Benchmark, Instruction, LanguageModel, Response

    rng = np.random.default_rng(SEED)
    benchmark = Benchmark.objects.create(workspace=workspace, slug="crowd")
    study = Study.objects.create(workspace=workspace, slug="crowd", kind="stars", benchmark=benchmark)
    rubric, criteria = build_rubric(workspace, "stars", CROWD_CRITERIA)
    models = [LanguageModel.objects.create(workspace=workspace, name=f"crowd model {place}") for place in range(12)]
    questions = Instruction.objects.bulk_create(
        Instruction(benchmark=benchmark, external_id=str(place)) for place in range(CROWD_TASKS // len(models))
    )
    responses = Response.objects.bulk_create(
        Response(instruction=question, model=model) for question in questions for model in models
    )
    tasks = Task.objects.bulk_create(
        Task(study=study, kind="single", key=str(place), response_a=response, answer_rubric=rubric)
        for place, response in enumerate(responses)
    )
    raters = Rater.objects.bulk_create(
        Rater(workspace=workspace, study=study, label=f"rater {place:04d}") for place in range(CROWD)
    )
    count = -(-RATINGS // CROWD_CRITERIA)
    cells = rng.choice(len(tasks) * CROWD, count, replace=False)
    stars = rng.integers(0, 5, (count, CROWD_CRITERIA)) / 4
    left = RATINGS
    for batch in batches(count):
        answers = Assignment.objects.bulk_create(
            Assignment(task=tasks[cell % len(tasks)], rater=raters[cell // len(tasks)], status="submitted")
            for cell in cells[batch.start : batch.stop].tolist()
        )
        scores = [
            Score(assignment=answer, criterion=criterion, value=stars[place, column])
            for place, answer in zip(batch, answers, strict=True)
            for column, criterion in enumerate(criteria)
        ]
        Score.objects.bulk_create(scores[:left])
        left -= len(scores)


def build_judged(workspace) -> None:
    """20,900 responses of 33 models, judged on six items each, in 38 categories under five."""
    from annotation.models import Assignment, Rater, Score, Study, Task
    from calibration.models import CategoryFit, Fit, FittedWeight
    from generation.models import Benchmark, Category, Instruction, LanguageModel, Response

    rng = np.random.default_rng(SEED)
    benchmark = Benchmark.objects.create(workspace=workspace, slug="judged")
    tops = [Category.objects.create(benchmark=benchmark, key=f"top{place}") for place in range(TOPS)]
    leaves = [
        Category.objects.create(benchmark=benchmark, parent=tops[place % TOPS], key=f"leaf{place}")
        for place in range(CATEGORIES)
    ]
    fit = Fit.objects.create(workspace=workspace, kind="published", benchmark=benchmark, published_name="published")
    for place, leaf in enumerate(leaves):
        part = CategoryFit.objects.create(fit=fit, category=leaf, key=leaf.key, position=place)
        weights = rng.dirichlet(np.full(ITEMS, 5.0)) * 100
        FittedWeight.objects.bulk_create(
            FittedWeight(category_fit=part, position=item, criterion_key=f"item{item}", weight=weight)
            for item, weight in enumerate(weights)
        )
    study = Study.objects.create(workspace=workspace, slug="judged", kind="checklist", benchmark=benchmark)
    rubric, criteria = build_rubric(workspace, "checklist", ITEMS)
    models = [
        LanguageModel.objects.create(workspace=workspace, name=f"judged model {place}")
        for place in range(JUDGED_MODELS)
    ]
    questions = Instruction.objects.bulk_create(
        Instruction(benchmark=benchmark, external_id=str(place), category=leaves[place % CATEGORIES])
        for place in range(INSTRUCTIONS)
    )
    pairs = [(question, model) for model in models for question in questions][:JUDGED]
    responses = Response.objects.bulk_create(
        (Response(instruction=question, model=model) for question, model in pairs), batch_size=BATCH
    )
    tasks = Task.objects.bulk_create(
        (
            Task(study=study, kind="single", key=str(place), response_a=response, answer_rubric=rubric)
            for place, response in enumerate(responses)
        ),
        batch_size=BATCH,
    )
    judge = Rater.objects.create(workspace=workspace, kind="judge", label="judge")
    values = rng.integers(0, 5, (len(tasks), ITEMS)) / 4
    for batch in batches(len(tasks)):
        answers = Assignment.objects.bulk_create(
            Assignment(task=tasks[place], rater=judge, status="submitted") for place in batch
        )
        Score.objects.bulk_create(
            Score(assignment=answer, criterion=criterion, value=values[place, column])
            for place, answer in zip(batch, answers, strict=True)
            for column, criterion in enumerate(criteria)
        )


def annotations() -> list:
    """The rows of 38 categories: every model's response to every instruction, answered by the same five raters."""
    from calibration.fits.categories import LabelledRows

    rng = np.random.default_rng(SEED)
    found = []
    for category in range(CATEGORIES):
        own = range(category, INSTRUCTIONS, CATEGORIES)
        rows = [(i, m, r) for i in own for m in range(MODELS) for r in range(RATERS)]
        quality = {(i, m): rng.integers(0, 5, ITEMS) for i in own for m in range(MODELS)}
        answers = np.array([quality[i, m] for i, m, _ in rows]) + rng.integers(-1, 2, (len(rows), ITEMS))
        answers = np.clip(answers, 0, 4) / 4
        weights = rng.dirichlet(np.full(ITEMS, 4.0)) * 9 + 0.2
        overall = np.clip(np.rint(answers @ weights + rng.normal(0, 0.8, len(rows))), 0, 10)
        found.append(
            LabelledRows(
                key=f"leaf{category}",
                parent=f"top{category % TOPS}",
                items=tuple(f"item{item}" for item in range(ITEMS)),
                answers=answers,
                overall=overall,
                instructions=tuple(str(i) for i, _, _ in rows),
                raters=tuple(str(r) for _, _, r in rows),
                models=tuple(str(m) for _, m, _ in rows),
                dropped_not_applicable=0,
                dropped_incomplete=0,
            )
        )
    assert sum(len(rows.overall) for rows in found) == 12_940
    return found


def certify_all(rows: list) -> None:
    """Every certificate, resampling even the few raters, whose range alone a certificate otherwise states."""
    from calibration.statistics.weights.fit import certify_weights

    for one in rows:
        made = certify_weights(
            one.answers,
            one.overall,
            instructions=one.instructions,
            raters=one.raters,
            models=one.models,
            draws=1000,
            min_clusters=2,
        )
        assert {ends.interval_kind for ends in made.intervals.values()} == {"bootstrap95"}


def measure() -> dict[str, float]:
    import django

    django.setup()
    from annotation.models import Study
    from calibration.data.frames import EVERY_KIND
    from calibration.data.scores import score_frame
    from calibration.statistics.agreement.alpha import krippendorff_alpha
    from calibration.statistics.agreement.leave_one_out import leave_one_out
    from generation.models import Benchmark
    from judging.leaderboards.table import judge_named, leaderboard

    rows = annotations()
    found = {"fit_38_s": seconds(lambda: certify_all(rows), repeats=3)}
    study = Study.objects.get(slug="crowd")
    frame = score_frame(kinds=EVERY_KIND, study=study)
    assert len(frame) == RATINGS
    assert len(frame.rater_names) == CROWD
    units = np.unique(frame.task * CROWD_CRITERIA + frame.criterion, return_inverse=True)[1].astype(np.int64)
    labels = np.rint(frame.value * 4).astype(np.int64)
    found["loo_ms"] = 1000 * seconds(lambda: leave_one_out(units, labels))
    found["alpha_ms"] = 1000 * seconds(lambda: krippendorff_alpha(units, frame.value, metric="ordinal"))
    found["frame_s"] = seconds(lambda: score_frame(kinds=EVERY_KIND, study=study), repeats=3)
    benchmark = Benchmark.objects.get(slug="judged")
    judge = judge_named(benchmark, "judge")
    ranked = leaderboard(benchmark, judge, "published")
    assert sum(cell.n for one in ranked.models for cell in one.categories.values()) == JUDGED
    found["leaderboard_s"] = seconds(lambda: leaderboard(benchmark, judge, "published"), repeats=3)
    found["leaderboard_page_s"] = page_seconds(benchmark)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def page_seconds(benchmark: Any) -> float:
    """As a lead asks for the leaderboard's page, everything between the request and its last byte."""
    from django.test import Client

    from accounts.models import Membership, User

    lead = User.objects.create_user("lead")
    Membership.objects.create(user=lead, workspace=benchmark.workspace, role=Membership.Role.LEAD)
    client = Client(headers={"host": "localhost"})
    client.force_login(lead)
    address = f"/w/benchmark/leaderboards/{benchmark.slug}/"
    assert client.get(address).status_code == 200
    return seconds(lambda: client.get(address), repeats=3)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLUMBLINE_DATA_DIR"] = folder
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/benchmark.sqlite3"
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        began = time.perf_counter()
        subprocess.run([sys.executable, __file__, "--build"], check=True)
        print(f"database made in {time.perf_counter() - began:.1f} s", file=sys.stderr)
        print(json.dumps({name: round(value, 4) for name, value in measure().items()}))


if __name__ == "__main__":
    build() if sys.argv[1:] == ["--build"] else main()
