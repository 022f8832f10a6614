"""How long all reports of a large study take, from a database that is warm, and in how much memory.

A crowd's 243,337 stars of 5,436 responses by 2,186 raters and its 29,898 preferences between 12 models: agreement,
raters and rankings of the stars, rankings of the pairs. Made-up data, seeded; the database is SQLite in a temporary
folder. The last line is JSON: report_s, seconds by part, cpu_s of the processor, peak_mb of this process, floor_s, the time
in which the scores are read once as rows, without anything computed from them, and report_vs_floor, report_s over it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))


def _beside(name: str) -> ModuleType:
    """The benchmark of that name beside this one, which is called as the app is."""
    found = spec_from_file_location(f"benchmark_{name}", HERE / f"{name}.py")
    assert found is not None and found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


crowd_data = _beside("calibration")

PAIRS, QUESTIONS, MODELS = 29_898, 453, 12


def build() -> None:
    """Migrate the database the settings name and fill it with the stars and the pairs of one crowd."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from accounts.models import Workspace

    workspace = Workspace.objects.create(slug="benchmark", name="Benchmark")
    crowd_data.build_crowd(workspace)
    build_pairs(workspace)


def build_pairs(workspace) -> None:
    from annotation.models import Assignment, Criterion, Rater, Rubric, Score, Study, Task
    from generation.models import Benchmark, Instruction, LanguageModel, Response

    rng = np.random.default_rng(crowd_data.SEED)
    benchmark = Benchmark.objects.create(workspace=workspace, slug="pairs")
    study = Study.objects.create(workspace=workspace, slug="pairs", kind="pair", benchmark=benchmark)
    rubric = Rubric.objects.create(workspace=workspace, key="pairs")
    levels = [
        {"key": key, "value": value, "label": {}, "description": {}} for key, value in (("a", 1), ("tie", 0), ("b", -1))
    ]
    criterion = Criterion.objects.create(rubric=rubric, key="preference", position=0, role="preference", levels=levels)
    models = [LanguageModel.objects.create(workspace=workspace, name=f"pair model {place}") for place in range(MODELS)]
    questions = Instruction.objects.bulk_create(
        Instruction(benchmark=benchmark, external_id=str(place)) for place in range(QUESTIONS)
    )
    responses = Response.objects.bulk_create(
        Response(instruction=question, model=model, text="x" * int(length))
        for question, lengths in zip(questions, rng.integers(50, 900, (QUESTIONS, MODELS)), strict=True)
        for model, length in zip(models, lengths, strict=True)
    )
    one, two = np.triu_indices(MODELS, 1)
    cells = rng.choice(QUESTIONS * len(one), PAIRS, replace=False)
    tasks = Task.objects.bulk_create(
        Task(
            study=study,
            kind="pair",
            key=str(place),
            answer_rubric=rubric,
            response_a=responses[cell // len(one) * MODELS + int(one[cell % len(one)])],
            response_b=responses[cell // len(one) * MODELS + int(two[cell % len(one)])],
        )
        for place, cell in enumerate(cells.tolist())
    )
    raters = Rater.objects.bulk_create(
        Rater(workspace=workspace, study=study, label=f"rater {place:04d}") for place in range(300)
    )
    answers = Assignment.objects.bulk_create(
        Assignment(task=task, rater=raters[int(who)], status="submitted", shown_first="ab"[int(side)])
        for task, who, side in zip(tasks, rng.integers(0, len(raters), PAIRS), rng.integers(0, 2, PAIRS), strict=True)
    )
    ahead = (two - one)[cells % len(one)] / 4
    won = rng.random(PAIRS) < 1 / (1 + np.exp(-ahead))
    values = np.where(rng.random(PAIRS) < 0.3, 0, np.where(won, 1, -1))
    Score.objects.bulk_create(
        [
            Score(assignment=answer, criterion=criterion, value=float(value))
            for answer, value in zip(answers, values, strict=True)
        ],
        batch_size=5000,
    )


def parts() -> tuple[dict[str, float], float]:
    """Seconds of every report, computed anew from the database, and of the processor in all."""
    from annotation.models import Study
    from calibration.models import Report
    from calibration.reports.agreement import agreement_report
    from calibration.reports.rankings import ALL, RANKINGS, ranking_settings
    from calibration.reports.raters import RATERS, rater_settings
    from calibration.reports.registry import report_of

    Report.objects.all().delete()
    stars, pairs = Study.objects.get(slug="crowd"), Study.objects.get(slug="pairs")
    work = {
        "agreement": lambda: agreement_report(stars, "item0"),
        "raters": lambda: report_of(stars, RATERS, rater_settings("item0")),
        "rankings": lambda: report_of(stars, RANKINGS, ranking_settings(ALL)),
        "pairs": lambda: report_of(pairs, RANKINGS, ranking_settings()),
    }
    taken = {}
    started = time.process_time()
    for name, make in work.items():
        began = time.perf_counter()
        make()
        taken[name] = round(time.perf_counter() - began, 2)
        print(f"{name}: {taken[name]} s, peak {peak_mb():.0f} MB", file=sys.stderr)
    return taken, time.process_time() - started


def floor_s() -> float:
    """Seconds in which every score is read once from the database into an array, the median of three times."""
    from django.db import connection

    taken = []
    for _ in range(3):
        began = time.perf_counter()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT s.assignment_id, a.task_id, a.rater_id, s.criterion_id, s.value FROM annotation_score s"
                " JOIN annotation_assignment a ON a.id = s.assignment_id"
            )
            np.array(cursor.fetchall(), dtype=np.float64)
        taken.append(time.perf_counter() - began)
    return sorted(taken)[1]


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure() -> dict[str, object]:
    """In this process, on a database made by another one."""
    import django

    django.setup()
    floor = floor_s()
    taken, cpu = parts()
    return {
        "report_s": round(sum(taken.values()), 2),
        "floor_s": round(floor, 2),
        "report_vs_floor": round(sum(taken.values()) / floor, 1),
        "cpu_s": round(cpu, 2),
        "parts": taken,
        "peak_mb": round(peak_mb(), 1),
    }


def run_apart() -> dict[str, object]:
    """The database made and measured in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PLUMBLINE_DATA_DIR": folder,
            "DATABASE_URL": f"sqlite:///{folder}/benchmark.sqlite3",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        subprocess.run([sys.executable, __file__, "--build"], check=True, env=environment)
        found = subprocess.run(
            [sys.executable, __file__, "--measure"], check=True, env=environment, stdout=subprocess.PIPE, text=True
        )
        answer: dict[str, object] = json.loads(found.stdout.splitlines()[-1])
        return answer


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--build"]:
            build()
        case ["--measure"]:
            print(json.dumps(measure()))
        case _:
            print(json.dumps(run_apart()))
