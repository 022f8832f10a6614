"""Reading a study's counts, folding what was added to them, and checking them against the rows."""

from dataclasses import dataclass

from django.db import connection, transaction

from annotation.counters import work_triggers
from annotation.counters.triggers import CHANGES, COLUMNS, COUNTERS, FILING, IN_USE, add, differences
from annotation.models import Study

FOLDED = 50_000


@dataclass(frozen=True)
class StudyCounts:
    """A study's counts (see StudyCounter). `judged_elsewhere` changes with judges' answers in the workspace's other
    studies, and `filed` with the categories of instructions.
    """

    changes: int
    answers: int
    scores: int
    tasks: int
    judged_elsewhere: int
    filed: int


def counts_of(study: Study) -> StudyCounts | None:
    """Return the counts in one statement, so that all are of the same moment; None while nothing is counted."""
    both = " UNION ALL ".join(
        f"SELECT study, {', '.join(COLUMNS)} FROM {table} "  # nosec B608 # names of our own
        "WHERE study <= 0 OR study IN (SELECT id FROM annotation_study WHERE workspace_id = %s)"
        for table in (COUNTERS, CHANGES)
    )
    sums = ", ".join(f"SUM({column})" for column in COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT study, {sums} FROM ({both}) each_one GROUP BY study", [study.workspace_id] * 2)  # nosec B608 # names of our own
        rows = {int(row[0]): [int(value) for value in row[1:]] for row in cursor.fetchall()}
    if IN_USE not in rows:
        return None
    changes, answers, scores, _judged, tasks = rows.get(study.pk, [0] * len(COLUMNS))
    elsewhere = sum(row[COLUMNS.index("judged")] for pk, row in rows.items() if pk > 0 and pk != study.pk)
    return StudyCounts(changes, answers, scores, tasks, elsewhere, rows.get(FILING, [0])[0])


def fold() -> int:
    """Add rows of changes to the counters, in one statement that a reader sees wholly or not at all."""
    sums = ", ".join(f"{column} = {COUNTERS}.{column} + excluded.{column}" for column in COLUMNS)
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH gone AS (
              DELETE FROM {CHANGES} WHERE id IN (SELECT id FROM {CHANGES} ORDER BY id LIMIT {FOLDED} FOR UPDATE SKIP LOCKED)
              RETURNING *
            ), added AS (
              INSERT INTO {COUNTERS} (study, {", ".join(COLUMNS)})
              SELECT study, {", ".join(f"SUM({column})" for column in COLUMNS)} FROM gone GROUP BY study ORDER BY study
              ON CONFLICT (study) DO UPDATE SET {sums} RETURNING study
            ) SELECT COUNT(*) FROM gone"""  # nosec B608 # names of our own
        )
        added = int(cursor.fetchone()[0])
        cursor.execute(work_triggers.fold(FOLDED))
        return added + int(cursor.fetchone()[0])


def check_work(*, repair: bool = False) -> dict[int, int]:
    """Count every study by rater and by instruction; return the number of wrong rows by study, and correct them."""
    wrong: dict[int, int] = {}
    with transaction.atomic():
        for row in work_triggers.differences(connection):
            wrong[row["study"]] = wrong.get(row["study"], 0) + 1
            if repair:
                work_triggers.add(connection, row)
    return wrong


def check(*, repair: bool = False) -> dict[int, tuple[int, int]]:
    """Count every study from its rows; return the answers and scores that the counts of a study lack, and add them."""
    with transaction.atomic():
        wrong = {pk: (answers, scores) for pk, answers, scores, _ in differences(connection) if answers or scores}
        with connection.cursor() as cursor:
            for pk, (answers, scores) in wrong.items() if repair else ():
                add(cursor, connection, pk, changes=1, answers=answers, scores=scores)
    return wrong
