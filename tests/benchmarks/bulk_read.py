"""All scores of a study over the API, as JSON Lines and as Parquet: seconds, and memory beyond that of an idle server.

make bench NAME=bulk_read ARGS="--scores 1200000". Each form is read in a process of its own, through the whole stack of
the application, and counted; the database is SQLite, or PostgreSQL where DATABASE_URL names one.
"""

import argparse
import io
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
RATERS, CRITERIA = 25, 4


def prepared():
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


def fill(scores):
    """Make a study with so many scores; return its address and a token."""
    from django.core.management import call_command
    from django.utils import timezone
    from factories import make_checklist_study, make_rater, make_user

    from accounts.api.tokens import issue_token
    from annotation.models import Assignment, Score, Task

    call_command("migrate", verbosity=0)
    study = make_checklist_study(instructions=1, models=1)
    example = study.tasks.get()
    wanted = -(-scores // (RATERS * CRITERIA))
    Task.objects.bulk_create(
        (
            Task(
                study=study,
                kind=example.kind,
                key=f"t{number}",
                position=number,
                response_a_id=example.response_a_id,
                answer_rubric_id=example.answer_rubric_id,
            )
            for number in range(wanted)
        ),
        batch_size=1000,
    )
    tasks = list(
        Task.objects.filter(key__startswith="t", study=study).exclude(pk=example.pk).values_list("pk", flat=True)
    )
    raters = [make_rater(study, label=f"r{number}").pk for number in range(RATERS)]
    criteria = list(example.answer_rubric.criteria.values_list("pk", flat=True))[:CRITERIA]
    now = timezone.now()
    for start in range(0, len(tasks), 200):
        made = Assignment.objects.bulk_create(
            [
                Assignment(task_id=task, rater_id=rater, status="submitted", submitted_at=now, shown_first="a")
                for task in tasks[start : start + 200]
                for rater in raters
            ],
            batch_size=1000,
        )
        Score.objects.bulk_create(
            [
                Score(assignment=one, criterion_id=criterion, value=(one.pk + place) % 5 / 4, reason="It is clear.")
                for one in made
                for place, criterion in enumerate(criteria)
            ],
            batch_size=2000,
        )
    lead = make_user("lead", study.workspace, username="lena")
    token = issue_token(user=lead, name="bench", scopes=("read", "ratings"))[1]
    return f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/scores/all/", token


def read(address, token, form):
    """Read everything as a client does, and print what it took."""
    from django.test import Client

    client = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {token}"})
    client.get("/api/v1/studies/")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun, size, rows, processor = time.monotonic(), 0, 0, time.process_time()
    first = 0.0
    kept = io.BytesIO()
    for piece in client.get(address, {"as": form}).streaming_content:
        first = first or time.monotonic() - begun
        size += len(piece)
        if form == "jsonl":
            rows += piece.count(b"\n")
        else:
            kept.write(piece)
    seconds, processor = time.monotonic() - begun, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if form == "parquet":
        from pyarrow.parquet import ParquetFile

        rows = ParquetFile(kept).metadata.num_rows
    known = {
        "rows": rows,
        "seconds": round(seconds, 1),
        "processor_s": round(processor, 1),
        "first_s": round(first, 2),
        "mb": round(size / 1e6, 1),
    }
    print(json.dumps({**known, "more_mb": round((peak - before) / 1024), "peak_mb": round(peak / 1024)}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scores", type=int, default=120_000)
    parser.add_argument("--read", nargs=3, metavar=("ADDRESS", "TOKEN", "FORM"))
    options = parser.parse_args()
    if options.read:
        prepared()
        read(*options.read)
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/bulk_read.sqlite3")
        os.environ["PLUMBLINE_DATA_DIR"] = folder
        prepared()
        address, token = fill(options.scores)
        result = {}
        for form in ("jsonl", "parquet"):
            command = [sys.executable, __file__, "--read", address, token, form]
            told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
            result[form] = json.loads(told.splitlines()[-1])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
