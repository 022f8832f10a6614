"""An archive with texts of a study of many answers, exported and loaded into an empty database: seconds and memory.

make bench NAME=archive ARGS="--answers 100000". Export and import each run in a process of their own, on a database of their
own in SQLite. `export_mb` and `import_mb` are peak resident memory, and `export_more_mb` and `import_more_mb` what of it is
beyond the same process before it began; `size_mb` is the archive's.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # installed packages bring a "tests" of their own
RATERS, CRITERIA, AT_ONCE = 25, 4, 200
WORDS = "The harbour lies still before the boats leave, and somebody counts the nets again. "


def prepared():
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


def fill(answers):
    """Make a study with so many answers of 25 raters, four scores with a reason each, and a text for each task."""
    from django.core.management import call_command
    from django.utils import timezone
    from factories import make_checklist_study, make_rater

    from annotation.models import Assignment, Score, Task
    from generation.models import Instruction, Response

    call_command("migrate", verbosity=0)
    study = make_checklist_study(instructions=1, models=1)
    example = study.tasks.select_related("response_a__instruction").get()
    instruction, response = example.response_a.instruction, example.response_a
    raters = [make_rater(study, label=f"r{number}").pk for number in range(RATERS)]
    criteria = list(example.answer_rubric.criteria.values_list("pk", flat=True))[:CRITERIA]
    now, wanted = timezone.now(), -(-answers // RATERS)
    for start in range(0, wanted, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, wanted))
        asked = Instruction.objects.bulk_create(
            Instruction(
                benchmark_id=instruction.benchmark_id,
                category_id=instruction.category_id,
                external_id=f"many-{number}",
                messages=[{"role": "user", "content": f"Tell {number}. {WORDS}"}],
            )
            for number in numbers
        )
        texts = Response.objects.bulk_create(
            Response(instruction=one, model_id=response.model_id, text=f"{one.external_id} {WORDS * 20}")
            for one in asked
        )
        tasks = Task.objects.bulk_create(
            Task(
                study=study,
                kind=example.kind,
                key=f"t{number}",
                position=number,
                response_a=text,
                answer_rubric_id=example.answer_rubric_id,
            )
            for number, text in zip(numbers, texts, strict=True)
        )
        made = Assignment.objects.bulk_create(
            Assignment(task=task, rater_id=rater, status="submitted", submitted_at=now, shown_first="a")
            for task in tasks
            for rater in raters
        )
        Score.objects.bulk_create(
            Score(assignment=one, criterion_id=criterion, value=(one.pk + place) % 5 / 4, reason="It is clear.")
            for one in made
            for place, criterion in enumerate(criteria)
        )
    print(json.dumps({"slug": study.slug, "answers": Assignment.objects.count()}))


def peak():
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def export(slug, path):
    from annotation.models import Study
    from judging.archive.export import export_study

    study = Study.objects.select_related("workspace").get(slug=slug)
    before, begun = peak(), time.monotonic()
    rows = export_study(study, Path(path), texts=True)
    return begun, before, rows["annotation.score"]


def load(_slug, path):
    from django.core.management import call_command
    from factories import make_workspace

    from judging.archive.importing import import_archive

    call_command("migrate", verbosity=0)
    workspace = make_workspace("elsewhere")
    before, begun = peak(), time.monotonic()
    found = import_archive(Path(path), workspace, None)
    return begun, before, found.rows["annotation.score"]


def in_a_process(what, slug, path, database, answers):
    """Do it in a process of its own, and return the JSON that it prints; this process stays small, because a process
    counts the memory of the one that began it."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{database}"}
    command = [sys.executable, __file__, "--answers", str(answers), "--do", what, slug, str(path)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment).stdout
    return json.loads(told.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--do", nargs=3, metavar=("WHAT", "STUDY", "FILE"))
    options = parser.parse_args()
    if options.do:
        prepared()
        what, slug, path = options.do
        if what == "fill":
            fill(options.answers)
            return
        begun, before, scores = {"export": export, "import": load}[what](slug, path)
        most = peak()
        known = {"s": round(time.monotonic() - begun, 1), "mb": round(most), "more_mb": round(most - before)}
        print(json.dumps({**known, "scores": scores}))
        return
    with tempfile.TemporaryDirectory() as folder:
        here, there, path = (Path(folder) / name for name in ("here.sqlite3", "there.sqlite3", "study.zip"))
        os.environ["PLUMBLINE_DATA_DIR"] = folder
        filled = in_a_process("fill", "-", path, here, options.answers)
        slug, answers = filled["slug"], filled["answers"]
        result = {"answers": answers}
        scores = set()
        for what, database in (("export", here), ("import", there)):
            found = in_a_process(what, slug, path, database, answers)
            scores.add(found.pop("scores"))
            result |= {f"{what}_{name}": value for name, value in found.items()}
        assert scores == {answers * CRITERIA}, scores
        result["size_mb"] = round(path.stat().st_size / 1e6, 1)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
